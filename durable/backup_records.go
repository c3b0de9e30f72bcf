package durable

import (
	"bytes"
	"errors"

	"github.com/mvccmap/mvccmap/internal/seam"
	"github.com/mvccmap/mvccmap/internal/seam/disk"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A recordSaver encodes the records of a table, one after the other.
//
// A refused record leaves nothing behind: its bytes are cut off. With them may go types in gob, and
// the like, that the encoder takes for written. So another encoder begins after the record, behind
// a frame of kind frameAnew, at which a decoder begins anew too.
type recordSaver struct {
	s    *saving
	of   seam.Table
	x    *seam.Boxes
	bare bool // values have only one value
	enc  encoder
	keys keyCheck

	batch []toSave
	at    int  // the record of the batch that is next
	mark  int  // where that record begins in data
	begun bool // that record was given to the encoder
	has   bool // the encoder has written records

	saved, refused int
	commits        commitCounts
}

// A toSave is a record, or the deletion of one, and the epoch of its state.
type toSave struct {
	v       *seam.Version // it has the key, and the value if the record is not deleted
	deleted bool
	epoch   uint64
	bare    bool // without a value
	instead bool // it deletes the refused record
}

// batchSize is the most records that are encoded in one go.
const batchSize = 256

// save encodes the records of a table, and returns how many there are, for the frame at their end.
func (s *saving) save(t seam.Table) (saved, refused int, counts []byte, err error) {
	key, value := t.Types()
	r := &recordSaver{s: s, of: t, x: t.Boxes(), bare: value.Size() == 0}
	r.keys.whole = keptByAll(key)
	r.commits.last = s.Since
	err = r.all()
	return r.saved, r.refused, r.counts(), err
}

func (r *recordSaver) all() error {
	var failed error
	put := func(v *seam.Version, deleted bool, epoch uint64) bool {
		r.batch = append(r.batch, toSave{v: v, deleted: deleted, epoch: epoch, bare: r.bare})
		if len(r.batch) == batchSize {
			failed = r.drain()
		}
		return failed == nil
	}
	switch {
	case r.s.since != (mvcc.DBSnapshot{}) && r.s.Since == r.s.Epoch:
		return nil
	case r.s.changes != nil:
		for _, list := range r.s.changes[r.of] {
			for i := range list.n {
				if v, has := r.of.Changed(list.changes, i); !put(v, !has, list.epoch) {
					return failed
				}
			}
		}
	default:
		r.s.db.Scan(r.of, r.s.of, r.s.since, func(v *seam.Version, deleted bool) bool {
			return put(v, deleted, r.s.Epoch)
		})
	}
	if failed != nil {
		return failed
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
func (r *recordSaver) drain() error {
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

// protected is some; but if records may be refused, it returns a panic or a Goexit as an error.
func (r *recordSaver) protected() (err error) {
	if r.s.opts.Refused == nil {
		return r.some()
	}
	r.s.opts.coroutine.call(func() {
		err = seam.ErrGoexit
		defer func() {
			if p := recover(); p != nil {
				err = seam.Panicked(p)
			}
		}()
		err = r.some()
	})
	return err
}

// some encodes records, until there is enough to be written. An error is that of the record r.at.
func (r *recordSaver) some() error {
	for ; r.at < len(r.batch) && len(r.s.data) < disk.MaxPayload; r.at++ {
		x := &r.batch[r.at]
		r.mark, r.begun = len(r.s.data), false
		if err := r.keys.check(r.s.codec, r.x, x.v, r.of); err != nil {
			if x.deleted && changesKey(err) {
				continue // nothing is saved under it, and it comes back as another key
			}
			return err
		}
		r.begun = true
		if r.enc == nil {
			r.enc = r.s.codec.NewEncoder(r.s)
		}
		before := len(r.s.data)
		r.x.Fill(x.v, x.deleted)
		record := r.x.Record
		if x.bare {
			record = r.x.Key
		}
		if err := r.enc.Encode(record); err != nil {
			return err
		}
		if len(r.s.data) == before {
			return errors.New("it has written nothing")
		}
		if r.s.codec.Lines && !isLine(r.s.data[r.mark:]) {
			return errors.New("it has not written a line with an object, as Codec.Lines says")
		}
		r.has = true
		r.saved++
		r.s.Records++
		if r.s.changes != nil {
			r.commits.add(x.epoch)
		}
	}
	return nil
}

// isLine reports whether text is a line that looks like an object in JSON.
func isLine(text []byte) bool {
	return text[0] == '{' && bytes.IndexByte(text, '\n') == len(text)-1
}

// refuse goes on after the record r.at, which cannot be encoded. In differences a deletion takes
// the record's place: an older version, in the backup before, must not come back for it.
func (r *recordSaver) refuse(cause error) error {
	if r.begun {
		r.s.data, r.enc = r.s.data[:r.mark], nil
	}
	x := &r.batch[r.at]
	if x.deleted && !x.bare { // the codec may refuse the zero value
		x.bare = true
		return nil
	}
	if x.instead {
		r.at++
		return nil
	}
	e := codecError(r.of, r.s.codec, x, cause)
	if r.s.opts.Refused == nil {
		return e
	}
	r.refused++
	r.s.opts.Refused(e)
	if r.s.Since == 0 || x.deleted {
		r.at++
		return nil
	}
	*x = toSave{v: x.v, deleted: true, instead: true, bare: x.bare, epoch: x.epoch}
	return nil
}

// codecError is the error of a record of a table.
func codecError(t seam.Table, codec Codec, x *toSave, cause error) *CodecError {
	key, epoch, deleted := t.Key(x.v), x.epoch, x.deleted
	return &CodecError{Table: t.Name(), Key: t.Boxed(key), Codec: codec.Name, Epoch: epoch, Err: cause,
		current: func() bool { return t.Unchanged(key, epoch, deleted) }}
}
