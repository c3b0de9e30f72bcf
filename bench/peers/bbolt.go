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

func newBBolt[V any](setup bench.Setup[V]) (bench.Engine[V], error) {
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

func (e *bboltEngine[V]) Session(int) bench.Session[V] {
	s := &bboltSession[V]{bboltEngine: e}
	s.self = s
	return s
}

// Close implements [bench.Engine]. The file is of no use any more, so it does
// not matter if it cannot be closed well.
func (e *bboltEngine[V]) Close() {
	_ = e.db.Close()
	_ = os.RemoveAll(e.dir)
}

// bboltSession never aborts.
type bboltSession[V any] struct {
	bboltTx[V]
	singles[V]
	bench.NoAborts
	*bboltEngine[V]
}

// bboltTx is a transaction that is open.
type bboltTx[V any] struct {
	arena
	bucket *bbolt.Bucket
}

// begin makes t the transaction tx.
func (t *bboltTx[V]) begin(tx *bbolt.Tx) {
	t.reset()
	t.bucket = tx.Bucket(bboltBucket)
}

func (t *bboltTx[V]) get(key string) (value V, ok bool, err error) {
	b := t.bucket.Get(t.key(key))
	if b == nil {
		return value, false, nil
	}
	value, err = decode[V](b)
	return value, err == nil, err
}

func (t *bboltTx[V]) has(key string) (bool, error) { return t.bucket.Get(t.key(key)) != nil, nil }

func (t *bboltTx[V]) put(key string, value V, _ bool) error {
	return t.bucket.Put(t.key(key), encode(&t.arena, value))
}

func (t *bboltTx[V]) remove(key string) error { return t.bucket.Delete(t.key(key)) }

func (s *bboltSession[V]) Begin() error {
	return s.db.View(func(*bbolt.Tx) error { return nil })
}

func (s *bboltSession[V]) Batch(ops []bench.Op[V], readOnly bool) error {
	do := func(tx *bbolt.Tx) error {
		s.begin(tx)
		return apply(s, ops)
	}
	if readOnly {
		return s.db.View(do)
	}
	return s.db.Update(do) // which cannot conflict
}

// Range implements [bench.Ranger].
func (s *bboltSession[V]) Range(low string, n int, visit func(key string, value V)) error {
	return s.db.View(func(tx *bbolt.Tx) error {
		s.begin(tx)
		c := s.bucket.Cursor()
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
func (s *bboltSession[V]) Pin() (bench.Pin[V], error) {
	tx, err := s.db.Begin(false)
	if err != nil {
		return nil, err
	}
	return &bboltPin[V]{tx: tx}, nil
}

type bboltPin[V any] struct {
	bboltTx[V]
	tx *bbolt.Tx
}

func (p *bboltPin[V]) Get(key string) (V, bool, error) {
	p.begin(p.tx)
	return p.get(key)
}

// Close implements [bench.Pin]. To end a reader cannot fail.
func (p *bboltPin[V]) Close() { _ = p.tx.Rollback() }

func (s *bboltSession[V]) Sum() (total uint64, keys int, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bboltBucket).ForEach(func(_, value []byte) error {
			v, err := decode[uint64](value)
			total += v
			keys++
			return err
		})
	})
	return total, keys, err
}
