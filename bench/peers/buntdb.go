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
			Name: "buntdb",
			Doc: "A B-tree of strings under a lock that is held for a whole transaction, in memory, " +
				"without a file",
			Lacks: map[string]string{"long-reader": "a read transaction that stays open stops every " +
				"writer"},
			New:      newBuntDB[uint64],
			NewBytes: newBuntDB[[]byte],
			NewShop:  newBuntDBShop,
		},
	}
}

// buntdbEngine is its own session: it never aborts, so it has no state.
type buntdbEngine[V any] struct {
	bench.NoAborts
	db *buntdb.DB
}

func newBuntDB[V any](setup bench.Setup[string, V]) (bench.Engine[string, V], error) {
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
	return &buntdbEngine[V]{db: db}, nil
}

func (e *buntdbEngine[V]) Session(int) bench.Session[string, V] {
	return e
}

// Close implements [bench.Engine]. There is no file that could fail to close.
func (e *buntdbEngine[V]) Close() { _ = e.db.Close() }

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

func (e *buntdbEngine[V]) Get(key string) (value V, ok bool, err error) {
	err = e.db.View(func(tx *buntdb.Tx) error {
		value, ok, err = buntdbGet[V](tx, key)
		return err
	})
	return value, ok, err
}

func (e *buntdbEngine[V]) Put(key string, value V) error {
	return e.db.Update(func(tx *buntdb.Tx) error { return buntdbPut(tx, key, value) })
}

func (e *buntdbEngine[V]) Begin() error {
	return e.db.View(func(*buntdb.Tx) error { return nil })
}

func (e *buntdbEngine[V]) Batch(ops []bench.Op[string, V], readOnly bool) error {
	do := func(tx *buntdb.Tx) error {
		for i := range ops {
			if err := e.do(tx, &ops[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if readOnly {
		return e.db.View(do)
	}
	return e.db.Update(do)
}

func (e *buntdbEngine[V]) do(tx *buntdb.Tx, op *bench.Op[string, V]) (err error) {
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

// Range implements [bench.Ranger].
func (e *buntdbEngine[V]) Range(low string, n int, visit func(key string, value V)) error {
	return e.db.View(func(tx *buntdb.Tx) error {
		var bad error
		err := tx.AscendGreaterOrEqual("", low, func(key, b string) bool {
			value, err := decodeString[V](b)
			if bad = err; bad != nil {
				return false
			}
			visit(key, value)
			n--
			return n > 0
		})
		return errors.Join(err, bad)
	})
}

// add adds delta to the value of key in tx, and returns the sum.
func (e *buntdbEngine[V]) add(tx *buntdb.Tx, key string, delta uint64) (uint64, error) {
	v, ok, err := buntdbGet[uint64](tx, key)
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, errNoSuchKey(key)
	}
	return v + delta, buntdbPut(tx, key, v+delta)
}

func (e *buntdbEngine[V]) Add(key string, delta uint64) (sum uint64, err error) {
	err = e.db.Update(func(tx *buntdb.Tx) error {
		sum, err = e.add(tx, key, delta)
		return err
	})
	return sum, err
}

func (e *buntdbEngine[V]) Transfer(from, to string, amount uint64) error {
	return e.db.Update(func(tx *buntdb.Tx) error {
		if _, err := e.add(tx, from, -amount); err != nil {
			return err
		}
		_, err := e.add(tx, to, amount)
		return err
	})
}

func (e *buntdbEngine[V]) Sum() (total uint64, keys int, err error) {
	err = e.db.View(func(tx *buntdb.Tx) error {
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
