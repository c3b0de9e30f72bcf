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

// buntdbDB is a database, and how its transactions are run.
type buntdbDB struct{ db *buntdb.DB }

// Close implements [bench.Engine] and [bench.Shop]. There is no file that could fail to close.
func (d *buntdbDB) Close() { _ = d.db.Close() }

// run runs do in a transaction, which cannot conflict.
func (d *buntdbDB) run(readOnly bool, do func(tx *buntdb.Tx) error) error {
	if readOnly {
		return d.db.View(do)
	}
	return d.db.Update(do)
}

type buntdbEngine[V any] struct{ buntdbDB }

func newBuntDB[V any](setup bench.Setup[V]) (bench.Engine[V], error) {
	db, err := buntdb.Open(":memory:")
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *buntdb.Tx) error {
		fill := buntdbTx[V]{tx: tx}
		for i, k := range setup.Keys {
			if err := fill.put(k, setup.Values[i], false); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &buntdbEngine[V]{buntdbDB{db}}, nil
}

func (e *buntdbEngine[V]) Session(int) bench.Session[V] {
	s := &buntdbSession[V]{buntdbEngine: e}
	s.self = s
	return s
}

// buntdbSession never aborts.
type buntdbSession[V any] struct {
	buntdbTx[V]
	singles[V]
	bench.NoAborts
	*buntdbEngine[V]
}

// buntdbTx is a transaction that is open. It is padded as [arena] is.
type buntdbTx[V any] struct {
	_  [128]byte
	tx *buntdb.Tx
	_  [128]byte
}

func (t *buntdbTx[V]) get(key string) (value V, ok bool, err error) {
	b, err := t.tx.Get(key)
	if errors.Is(err, buntdb.ErrNotFound) {
		return value, false, nil
	}
	if err != nil {
		return value, false, err
	}
	value, err = decodeString[V](b)
	return value, err == nil, err
}

func (t *buntdbTx[V]) has(key string) (bool, error) {
	_, err := t.tx.Get(key)
	if errors.Is(err, buntdb.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// put implements [txn]. The string is new: the database keeps it.
func (t *buntdbTx[V]) put(key string, value V, _ bool) error {
	_, _, err := t.tx.Set(key, encodeString(value), nil)
	return err
}

func (t *buntdbTx[V]) remove(key string) error {
	_, err := t.tx.Delete(key)
	if errors.Is(err, buntdb.ErrNotFound) {
		return nil
	}
	return err
}

func (s *buntdbSession[V]) Begin() error {
	return s.db.View(func(*buntdb.Tx) error { return nil })
}

func (s *buntdbSession[V]) Batch(ops []bench.Op[V], readOnly bool) error {
	return s.run(readOnly, func(tx *buntdb.Tx) error {
		s.tx = tx
		return apply(s, ops)
	})
}

// Range implements [bench.Ranger].
func (s *buntdbSession[V]) Range(low string, n int, visit func(key string, value V)) error {
	return s.db.View(func(tx *buntdb.Tx) error {
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

func (s *buntdbSession[V]) Sum() (total uint64, keys int, err error) {
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
