package mvcc

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/disk"
)

// A recordSaver encodes the records of a table, one after the other.
//
// Nothing stays of a record that is refused: what was written of it is cut off. What the encoder
// takes for written by then, such as types in gob, may be gone with that. So another encoder begins
// after it, and a frame of kind frameAnew before that: a decoder begins anew there too.
type recordSaver[K comparable, V any] struct {
	s    *saving
	m    *Map[K, V]
	enc  encoder
	keys keyCheck[K]

	batch []toSave[K, V]
	at    int  // the record of the batch that is next
	mark  int  // where it begins in data
	begun bool // it was given to the encoder
	has   bool // the encoder has written records

	saved, refused int
}

// A toSave is a record, or the deletion of one, and the epoch of the state that it is from.
type toSave[K comparable, V any] struct {
	record  saved[K, V]
	epoch   uint64
	bare    bool // without a value
	instead bool // it deletes what was refused
}

// batchSize is up to how many records are encoded in one go.
const batchSize = 256

// save encodes the records of a table.
func save[K comparable, V any](of *engine, s *saving) (saved, refused int, err error) {
	r := &recordSaver[K, V]{s: s, m: mapOf[K, V](of)}
	err = r.all()
	return r.saved, r.refused, err
}

func (r *recordSaver[K, V]) all() (err error) {
	put := func(key K, value V, has bool, epoch uint64) bool {
		r.batch = append(r.batch, toSave[K, V]{
			record: saved[K, V]{key, value, !has}, epoch: epoch, bare: valueless[V](),
		})
		if len(r.batch) == batchSize {
			err = r.drain()
		}
		return err == nil
	}
	of := func(s DBSnapshot) Snapshot[K, V] { return Snapshot[K, V](r.m.at.seen(s)) }
	switch {
	case r.s.changes != nil:
		for _, list := range r.s.changes[r.m.at] {
			for _, c := range list.changes.([]Change[K, V]) {
				if !put(c.Key, c.New, c.Has, list.epoch) {
					return err
				}
			}
		}
	case r.s.since == nil:
		for key, value := range of(r.s.of).All() {
			if !put(key, value, true, r.s.Epoch) {
				return err
			}
		}
	default:
		for c := range of(r.s.of).Diff(of(*r.s.since)) {
			if !put(c.Key, c.New, c.Has, r.s.Epoch) {
				return err
			}
		}
	}
	if err := r.drain(); err != nil {
		return err
	}
	if err := r.s.ctx.Err(); err != nil {
		return err
	}
	return r.s.flush(0)
}

// drain encodes the batch.
func (r *recordSaver[K, V]) drain() error {
	for r.at = 0; r.at < len(r.batch); {
		if err := r.s.ctx.Err(); err != nil {
			return err
		}
		if r.enc == nil && r.has {
			r.has = false
			if err := r.s.flush(0); err != nil {
				return err
			}
			if err := r.s.to.Frame(frameAnew, nil); err != nil {
				return err
			}
		}
		if err := r.protected(); err != nil {
			if err := r.refuse(err); err != nil {
				return err
			}
		}
		if err := r.s.flush(disk.MaxPayload); err != nil {
			return err
		}
	}
	clear(r.batch)
	r.batch = r.batch[:0]
	return nil
}

var errGoexit = errors.New("it has ended its goroutine (runtime.Goexit)")

// protected is some; if records may be refused a panic is an error, and so is a Goexit.
func (r *recordSaver[K, V]) protected() (err error) {
	if r.s.opts.Refused == nil {
		return r.some()
	}
	done, returned := make(chan struct{}), false
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				err = panicked(p)
			} else if !returned {
				err = errGoexit
			}
		}()
		err = r.some()
		returned = true
	}()
	<-done
	return err
}

// panicked is the error for a panic with the value p.
func panicked(p any) error {
	if err, ok := p.(error); ok {
		return fmt.Errorf("it panics: %w", err)
	}
	return fmt.Errorf("it panics: %v", p)
}

// some encodes records, until there is enough to be written. If it fails that is the record at.
func (r *recordSaver[K, V]) some() error {
	for ; r.at < len(r.batch) && len(r.s.data) < disk.MaxPayload; r.at++ {
		x := &r.batch[r.at]
		r.mark, r.begun = len(r.s.data), false
		if err := r.keys.check(r.s.codec, x.record.K); err != nil {
			if x.record.D && errors.As(err, new(*changedKeyError)) {
				continue // nothing is saved under it, and what it becomes is another key
			}
			return err
		}
		r.begun = true
		if r.enc == nil {
			r.enc = r.s.codec.NewEncoder(r.s)
		}
		before := len(r.s.data)
		var err error
		if x.bare {
			err = r.enc.Encode(&savedKey[K]{x.record.K, x.record.D})
		} else {
			err = r.enc.Encode(&x.record)
		}
		if err != nil {
			return err
		}
		if len(r.s.data) == before {
			return errors.New("it has written nothing")
		}
		r.has = true
		r.saved++
		r.s.Records++
	}
	return nil
}

// refuse goes on after the record at, which cannot be encoded. What was saved of it before, in what
// the differences are to, must not take its place: it is deleted.
func (r *recordSaver[K, V]) refuse(cause error) error {
	if r.begun {
		r.s.data, r.enc = r.s.data[:r.mark], nil
	}
	x := &r.batch[r.at]
	if x.record.D && !x.bare { // the codec may refuse the zero value
		x.bare = true
		return nil
	}
	if x.instead {
		r.at++
		return nil
	}
	e := codecError(r.m, r.s.codec, x, cause)
	if r.s.opts.Refused == nil {
		return e
	}
	r.refused++
	r.s.opts.Refused(e)
	if r.s.Since == 0 || x.record.D {
		r.at++
		return nil
	}
	*x = toSave[K, V]{record: saved[K, V]{K: x.record.K, D: true}, instead: true, bare: x.bare}
	return nil
}

// codecError is the error of a record of a table.
func codecError[K comparable, V any](
	m *Map[K, V], codec Codec, x *toSave[K, V], cause error,
) *CodecError {
	key, epoch, deleted := x.record.K, x.epoch, x.record.D
	return &CodecError{Table: m.Name(), Key: key, Codec: codec.Name, Epoch: epoch, Err: cause,
		current: func() bool { return m.at.unchanged(unsafe.Pointer(&key), epoch, deleted) }}
}
