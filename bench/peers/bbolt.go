package peers

import (
	"errors"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"github.com/mvccmap/mvccmap/bench"
)

func bboltPeer() Peer {
	return Peer{
		Module:    "go.etcd.io/bbolt",
		Isolation: "one writer, readers have snapshots",
		Caveat:    "It is on disk, and what it maps into memory is not part of the heap",
		EngineSpec: bench.EngineSpec{
			Name: "bbolt",
			Doc: "A B+tree in a file on disk, mapped into memory, with one writer at a time; the " +
				"file lies in the directory for temporary files and is never synced",
			New:      newBBolt[uint64],
			NewBytes: newBBolt[[]byte],
		},
	}
}

// bboltMap is how much of the file is mapped from the start, so that no writer
// waits for the readers to end in order to map more of it.
const bboltMap = 256 << 20

var bboltBucket = []byte("map")

type bboltEngine[V any] struct {
	db  *bbolt.DB
	dir string
}

func newBBolt[V any](setup bench.Setup[string, V]) (bench.Engine[string, V], error) {
	dir, err := os.MkdirTemp("", "peers-bbolt-")
	if err != nil {
		return nil, err
	}
	db, err := bbolt.Open(filepath.Join(dir, "db"), 0o600, &bbolt.Options{
		NoSync:          true,
		NoGrowSync:      true,
		NoFreelistSync:  true,
		FreelistType:    bbolt.FreelistMapType,
		InitialMmapSize: bboltMap,
		NoStatistics:    true,
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	e := &bboltEngine[V]{db: db, dir: dir}
	err = db.Update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucket(bboltBucket)
		if err != nil {
			return err
		}
		var a arena // not reset: values are kept until the end
		for i, k := range setup.Keys {
			if err := bucket.Put(a.key(k), encode(&a, setup.Values[i])); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func (e *bboltEngine[V]) Session(int) bench.Session[string, V] {
	return &bboltSession[V]{bboltEngine: e}
}

// Close implements [bench.Engine]. The file is of no use any more, so it does
// not matter if it cannot be closed well.
func (e *bboltEngine[V]) Close() {
	_ = e.db.Close()
	_ = os.RemoveAll(e.dir)
}

// bboltSession never aborts.
type bboltSession[V any] struct {
	arena
	bench.NoAborts
	*bboltEngine[V]
}

// view runs fn in a read-only transaction.
func (s *bboltSession[V]) view(fn func(b *bbolt.Bucket) error) error {
	s.reset()
	return s.db.View(func(tx *bbolt.Tx) error { return fn(tx.Bucket(bboltBucket)) })
}

// update runs fn, which cannot conflict, in a read-write transaction.
func (s *bboltSession[V]) update(fn func(b *bbolt.Bucket) error) error {
	s.reset()
	return s.db.Update(func(tx *bbolt.Tx) error { return fn(tx.Bucket(bboltBucket)) })
}

// bboltGet returns the value of key.
func bboltGet[V any](bucket *bbolt.Bucket, key []byte) (value V, ok bool, err error) {
	b := bucket.Get(key)
	if b == nil {
		return value, false, nil
	}
	value, err = decode[V](b)
	return value, err == nil, err
}

func (s *bboltSession[V]) Get(key string) (value V, ok bool, err error) {
	err = s.view(func(b *bbolt.Bucket) error {
		value, ok, err = bboltGet[V](b, s.key(key))
		return err
	})
	return value, ok, err
}

func (s *bboltSession[V]) Put(key string, value V) error {
	return s.update(func(b *bbolt.Bucket) error { return b.Put(s.key(key), encode(&s.arena, value)) })
}

func (s *bboltSession[V]) Begin() error {
	return s.db.View(func(*bbolt.Tx) error { return nil })
}

func (s *bboltSession[V]) Batch(ops []bench.Op[string, V], readOnly bool) error {
	do := func(b *bbolt.Bucket) error {
		for i := range ops {
			if err := s.do(b, &ops[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if readOnly {
		return s.view(do)
	}
	return s.update(do)
}

func (s *bboltSession[V]) do(b *bbolt.Bucket, op *bench.Op[string, V]) (err error) {
	key := s.key(op.Key)
	switch op.Kind {
	case bench.OpGet, bench.OpModify:
		op.Old, op.OK, err = bboltGet[V](b, key)
	case bench.OpHas:
		op.OK = b.Get(key) != nil
	case bench.OpDelete:
		return b.Delete(key)
	}
	if err == nil && (op.Kind == bench.OpPut || op.Kind == bench.OpModify) {
		err = b.Put(key, encode(&s.arena, op.Value))
	}
	return err
}

// Range implements [bench.Ranger].
func (s *bboltSession[V]) Range(low string, n int, visit func(key string, value V)) error {
	return s.view(func(b *bbolt.Bucket) error {
		c := b.Cursor()
		for k, v := c.Seek(s.key(low)); k != nil && n > 0; k, v = c.Next() {
			value, err := decode[V](v)
			if err != nil {
				return err
			}
			visit(string(k), value)
			n--
		}
		return nil
	})
}

// Pin implements [bench.Pinner]: a read-only transaction that stays open.
func (s *bboltSession[V]) Pin() (bench.Pin[string, V], error) {
	tx, err := s.db.Begin(false)
	if err != nil {
		return nil, err
	}
	return &bboltPin[V]{tx: tx}, nil
}

type bboltPin[V any] struct {
	arena
	tx *bbolt.Tx
}

func (p *bboltPin[V]) Get(key string) (V, bool, error) {
	p.reset()
	return bboltGet[V](p.tx.Bucket(bboltBucket), p.key(key))
}

// Close implements [bench.Pin]. To end a reader cannot fail.
func (p *bboltPin[V]) Close() { _ = p.tx.Rollback() }

// add adds delta to the value of key, and returns the sum.
func (s *bboltSession[V]) add(b *bbolt.Bucket, key string, delta uint64) (uint64, error) {
	k := s.key(key)
	v, ok, err := bboltGet[uint64](b, k)
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, errNoSuchKey(key)
	}
	return v + delta, b.Put(k, encode(&s.arena, v+delta))
}

func (s *bboltSession[V]) Add(key string, delta uint64) (sum uint64, err error) {
	err = s.update(func(b *bbolt.Bucket) error {
		sum, err = s.add(b, key, delta)
		return err
	})
	return sum, err
}

func (s *bboltSession[V]) Transfer(from, to string, amount uint64) error {
	return s.update(func(b *bbolt.Bucket) error {
		if _, err := s.add(b, from, -amount); err != nil {
			return err
		}
		_, err := s.add(b, to, amount)
		return err
	})
}

func (s *bboltSession[V]) Sum() (total uint64, keys int, err error) {
	err = s.view(func(b *bbolt.Bucket) error {
		return b.ForEach(func(_, value []byte) error {
			v, err := decode[uint64](value)
			total += v
			keys++
			return err
		})
	})
	return total, keys, err
}
