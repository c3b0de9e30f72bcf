package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A transaction that first reads a key, and writes it, may do more than its commit in one function
// looks at: then it commits in the general way.
func TestPlain(t *testing.T) {
	for name, c := range map[string]struct {
		stored int // meanwhile
		do     func(tx Tx[int, int])
	}{
		"counts": {3, func(tx Tx[int, int]) { tx.Len() }},
		"misses": {3, func(tx Tx[int, int]) { tx.Get(3) }},
		"reads":  {2, func(tx Tx[int, int]) { tx.Get(2) }},
		"scans": {3, func(tx Tx[int, int]) {
			for range tx.All() {
				continue
			}
		}},
	} {
		m := newMap[int, int](t, nil)
		m.Store(1, 1)
		m.Store(2, 2)
		tx := m.Begin(nil)
		tx.Get(1)
		c.do(tx)
		m.Store(c.stored, 1)
		tx.Set(1, 10)
		require.ErrorIs(t, tx.Commit(), ErrConflict, name)
	}
	m := newMap[int, int](t, nil)
	m.Store(1, 1)
	mustUpdate(t, m, nil, func(tx Tx[int, int]) {
		tx.Get(1)
		tx.Delete(1)
	})
	_, ok := m.Load(1)
	require.False(t, ok)
	require.Zero(t, m.Len())
}
