//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// A goroutine sleeps within Begin for so long that it is taken for an old transaction,
// with an epoch that it cannot keep: it begins again, in another state.
func TestPromotedWhileBeginning(t *testing.T) {
	for _, write := range []bool{false, true} {
		m := newMap[string, int](t, &Options{ManualReclaim: true})
		m.Store("k", 1)
		n := 0
		restore := hooks.Set(func(p hooks.Point) {
			if p != hooks.BeginStored {
				return
			}
			if n++; n == 1 {
				require.NoError(t, m.Reclaim(bg))
				require.NoError(t, m.Reclaim(bg))
				m.Store("k", 2)
				require.NoError(t, m.Reclaim(bg))
			}
		})
		var r Reader[string, int]
		var done func()
		if write {
			tx := m.Begin(nil)
			r, done = tx, tx.Rollback
		} else {
			s := m.Snapshot()
			r, done = s, s.Close
		}
		restore()
		require.Equal(t, 3, n, "once more with the new epoch, and once in the other state")
		m.Store("k", 3)
		for range 5 {
			require.NoError(t, m.Reclaim(bg))
		}
		requireValue(t, 2)(r.Get("k"))
		require.EqualValues(t, 1, m.Stats().LiveTx)
		done()
		require.NoError(t, m.Reclaim(bg))
		require.Zero(t, m.Stats().LiveTx)
		checkQuiet(t, m)
	}
}

// A serializable commit that compares what it has read where it installs says so if it
// was evicted before.
func TestEvictedWhileComparing(t *testing.T) {
	for _, p := range []hooks.Point{hooks.CommitEntries, hooks.Installed} {
		m := newMap[string, int](t, hasty())
		m.Store("a", 1)
		tx := m.Begin(nil)
		requireValue(t, 1)(tx.Get("a"))
		requireAbsent[int](t)(tx.Get("b"))
		tx.Set("a", 2)
		tx.Set("b", 2)
		once(t, p, func() { evictAll(t, m) })
		require.Equal(t, ErrTxTooOld, tx.Commit())
		requireValue(t, 1)(m.Load("a"))
		requireAbsent[int](t)(m.Load("b"))
		require.NoError(t, m.Reclaim(bg))
		require.Len(t, heads(m), 1)
		checkQuiet(t, m)
	}
}
