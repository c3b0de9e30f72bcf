package peers

import (
	"errors"

	"github.com/tidwall/buntdb"

	"github.com/mvccmap/mvccmap/bench"
)

func buntdbPeer() Peer {
	return Peer{
		Module:    "github.com/tidwall/buntdb",
		Isolation: "serial: one lock",
		EngineSpec: bench.EngineSpec{
			Name:   "buntdb",
			Doc:    "A B-tree of strings under a lock that is held for a whole transaction, in memory, without a file",
			Lacks:  map[string]string{"long-reader": "a read transaction that stays open stops every writer"},
			New:    newBuntDBNumbers,
			Makers: bench.Makers{StringBytes: newBuntDB[[]byte]},
		},
	}
}

type buntdbEngine[V any] struct{ db *buntdb.DB }

// buntdbNumbers is one whose values are numbers.
type buntdbNumbers struct{ *buntdbEngine[uint64] }

func openBuntDB[V any](setup bench.SetupOf[string, V]) (*buntdbEngine[V], error) {
	db, err := buntdb.Open(":memory:")
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *buntdb.Tx) error {
		for i, k := range setup.Keys {
			if err := buntdbPut(tx, k, setup.Values[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &buntdbEngine[V]{db}, nil
}

func newBuntDB[V any](setup bench.SetupOf[string, V]) (bench.EngineOf[string, V], error) {
	return openBuntDB(setup)
}

func newBuntDBNumbers(setup bench.Setup) (bench.Engine, error) {
	e, err := openBuntDB(setup)
	return buntdbNumbers{e}, err
}

func (e *buntdbEngine[V]) Session(int) bench.SessionOf[string, V] {
	return buntdbSession[V]{buntdbEngine: e}
}

// Close implements [bench.EngineOf]. There is no file that could fail to close.
func (e *buntdbEngine[V]) Close() { _ = e.db.Close() }

func (e buntdbNumbers) Session(int) bench.Session {
	return buntdbNumberSession{buntdbSession[uint64]{buntdbEngine: e.buntdbEngine}}
}

// buntdbGet returns the value of key in tx.
func buntdbGet[V any](tx *buntdb.Tx, key string) (value V, ok bool, err error) {
	b, err := tx.Get(key)
	if errors.Is(err, buntdb.ErrNotFound) {
		return value, false, nil
	}
	if err != nil {
		return value, false, err
	}
	value, err = decodeString[V](b)
	return value, err == nil, err
}

// buntdbPut sets key in tx. The string is new: the database keeps it.
func buntdbPut[V any](tx *buntdb.Tx, key string, value V) error {
	_, _, err := tx.Set(key, encodeString(value), nil)
	return err
}

// buntdbSession never aborts, so it has no state.
type buntdbSession[V any] struct {
	never
	*buntdbEngine[V]
}

func (s buntdbSession[V]) Get(key string) (value V, ok bool, err error) {
	err = s.db.View(func(tx *buntdb.Tx) error {
		value, ok, err = buntdbGet[V](tx, key)
		return err
	})
	return value, ok, err
}

func (s buntdbSession[V]) Put(key string, value V) error {
	return s.db.Update(func(tx *buntdb.Tx) error { return buntdbPut(tx, key, value) })
}

func (s buntdbSession[V]) Begin() error {
	return s.db.View(func(*buntdb.Tx) error { return nil })
}

func (s buntdbSession[V]) Batch(ops []bench.OpOf[string, V], readOnly bool) error {
	do := func(tx *buntdb.Tx) error {
		for i := range ops {
			if err := s.do(tx, &ops[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if readOnly {
		return s.db.View(do)
	}
	return s.db.Update(do)
}

func (s buntdbSession[V]) do(tx *buntdb.Tx, op *bench.OpOf[string, V]) (err error) {
	switch op.Kind {
	case bench.OpGet, bench.OpModify:
		op.Old, op.OK, err = buntdbGet[V](tx, op.Key)
	case bench.OpHas:
		_, err = tx.Get(op.Key)
		op.OK = err == nil
	case bench.OpDelete:
		_, err = tx.Delete(op.Key)
	}
	if errors.Is(err, buntdb.ErrNotFound) {
		err = nil
	}
	if err == nil && (op.Kind == bench.OpPut || op.Kind == bench.OpModify) {
		err = buntdbPut(tx, op.Key, op.Value)
	}
	return err
}

// buntdbNumberSession adds what is done with numbers.
type buntdbNumberSession struct{ buntdbSession[uint64] }

// add adds delta to the value of key in tx, and returns the sum.
func (s buntdbNumberSession) add(tx *buntdb.Tx, key string, delta uint64) (uint64, error) {
	v, ok, err := buntdbGet[uint64](tx, key)
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, errNoSuchKey(key)
	}
	return v + delta, buntdbPut(tx, key, v+delta)
}

func (s buntdbNumberSession) Add(key string, delta uint64) (sum uint64, err error) {
	err = s.db.Update(func(tx *buntdb.Tx) error {
		sum, err = s.add(tx, key, delta)
		return err
	})
	return sum, err
}

func (s buntdbNumberSession) Transfer(from, to string, amount uint64) error {
	return s.db.Update(func(tx *buntdb.Tx) error {
		if _, err := s.add(tx, from, -amount); err != nil {
			return err
		}
		_, err := s.add(tx, to, amount)
		return err
	})
}

func (s buntdbNumberSession) Sum() (total uint64, keys int, err error) {
	err = s.db.View(func(tx *buntdb.Tx) error {
		var bad error
		err := tx.Ascend("", func(_, b string) bool {
			var v uint64
			v, bad = decodeString[uint64](b)
			total += v
			keys++
			return bad == nil
		})
		return errors.Join(err, bad)
	})
	return total, keys, err
}
