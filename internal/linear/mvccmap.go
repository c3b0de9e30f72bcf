package linear

import (
	"context"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Of makes a [Map] of m. Its transactions are serializable.
func Of(m *mvcc.Map[int, int64]) Map { return mvccMap{m} }

type mvccMap struct{ *mvcc.Map[int, int64] }

func (m mvccMap) CompareAndSwap(key int, old, value int64) bool {
	return mvcc.CompareAndSwap(m.Map, key, old, value)
}

func (m mvccMap) View(key int) (value int64, ok bool) {
	_ = m.Map.View(func(s mvcc.Snapshot[int, int64]) error {
		value, ok = s.Get(key)
		return nil
	})
	return value, ok
}

var serializable = &mvcc.TxOptions{Isolation: mvcc.LevelSerializable}

func (m mvccMap) Update(key, other int, value int64) (previous int64, loaded, done bool) {
	err := m.Map.Update(context.Background(), serializable, func(tx mvcc.Tx[int, int64]) error {
		previous, loaded = tx.Get(key)
		tx.Set(key, value)
		if other != key {
			tx.Set(other, value)
		}
		return nil
	})
	return previous, loaded, err == nil
}
