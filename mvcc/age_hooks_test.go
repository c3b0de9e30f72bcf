//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// evictAll evicts all transactions of a map with the options of hasty that have not been, and
// prunes.
func evictAll[K comparable, V any](t *testing.T, m *Map[K, V]) {
	t.Helper()
	for was := m.Stats().Evicted; m.Stats().Evicted == was; { // seen first, then evicted
		require.NoError(t, m.Reclaim(bg))
	}
}

// hasty returns options with which Reclaim evicts everybody.
func hasty() *Options { return &Options{ManualReclaim: true, MaxTxAge: 1} }

// once calls f at point p, once.
func once(t *testing.T, p hooks.Point, f func()) {
	done := false
	t.Cleanup(hooks.Set(func(q hooks.Point) {
		if q == p && !done {
			done = true
			f()
		}
	}))
}

// A reader that is evicted in the middle of a read never answers that a key is
// absent whose version has been dropped under it.
func TestEvictedWhileReading(t *testing.T) {
	for _, key := range []string{"overwritten", "deleted"} {
		t.Run(key, func(t *testing.T) {
			m := newMap[string, int](t, hasty())
			m.Store("overwritten", 1)
			m.Store("deleted", 1)
			s := m.Snapshot()
			m.Store("overwritten", 2)
			m.Delete("deleted")
			evicted := false
			once(t, hooks.GetWalked, func() {
				evictAll(t, m)
				evicted = true
			})
			require.PanicsWithError(t, ErrTxTooOld.Error(), func() { s.Get(key) })
			require.True(t, evicted)
			require.PanicsWithError(t, ErrTxTooOld.Error(), func() { s.Get(key) })
			s.Close()
			checkQuiet(t, m)
		})
	}
}

// A transaction may be evicted before it has quite begun.
func TestEvictedWhileBeginning(t *testing.T) {
	for _, commit := range []bool{false, true} { // while it begins
		m := newMap[string, int](t, hasty())
		m.Store("k", 1)
		at := hooks.BeginStored
		if commit {
			at = hooks.BeginLoaded // it has to begin again, and is evicted at the second try
		}
		n := 0
		t.Cleanup(hooks.Set(func(p hooks.Point) {
			switch {
			case p == at && n == 0 && commit:
				m.Store("k", 2)
				require.NoError(t, m.Reclaim(bg)) // a bound above the epoch that it has loaded
				at = hooks.BeginStored
				n = 1
			case p == at && n == 1:
				n = 2 // it cannot keep the epoch that it has stored: nobody looks at it
			case p == at && n < 3 && (n == 2 || !commit):
				n = 3
				evictAll(t, m)
			}
		}))
		s := m.Snapshot()
		require.Equal(t, 3, n)
		require.PanicsWithError(t, ErrTxTooOld.Error(), func() { s.Get("k") })
		require.Zero(t, m.Stats().LiveTx)
		s.Close()
		next := m.Snapshot()
		require.Equal(t, m.Stats().Epoch, next.Epoch())
		next.Close()
		checkQuiet(t, m)
	}
}

// A commit that is evicted before its reads have been validated, or before it installs at level
// snapshot, fails: the entry that would show the conflict may be gone. Afterwards, and when others
// have committed it, it does not matter.
func TestEvictedWhileCommitting(t *testing.T) {
	type points = []hooks.Point
	for name, c := range map[string]struct {
		opts    *TxOptions
		begin   func(m *Map[string, int], tx Tx[string, int])
		at      points
		commits bool
	}{
		"scan": {serializable, func(m *Map[string, int], tx Tx[string, int]) {
			for range tx.All() {
				continue
			}
			m.Delete("b") // the conflict
		}, points{hooks.CommitEntries, hooks.Installed, hooks.InstalledAll, hooks.Tentative}, false},
		"validated": {serializable, func(_ *Map[string, int], tx Tx[string, int]) { tx.Get("a") },
			points{hooks.Validated, hooks.Published}, true},
		"conflict of snapshot level": {snapshot, func(m *Map[string, int], tx Tx[string, int]) {
			tx.Get("sum")
			m.Store("sum", 1)
			m.Delete("sum")
		}, points{hooks.CommitEntries}, false},
		"snapshot level": {snapshot, func(_ *Map[string, int], tx Tx[string, int]) {
			tx.Get("sum")
			tx.Set("another", 2)
		}, points{hooks.CommitEntries, hooks.Installed}, false},
		"compared where it installs": {serializable, func(_ *Map[string, int], tx Tx[string, int]) {
			tx.Get("a")
			tx.Get("another")
			tx.Set("a", 1)
			tx.Set("another", 2)
		}, points{hooks.CommitEntries, hooks.Installed}, false},
		"committed by others": {snapshot, func(_ *Map[string, int], tx Tx[string, int]) { tx.Get("a") },
			points{hooks.InstalledAll}, true},
	} {
		for _, p := range c.at {
			t.Run(name+"/"+p.String(), func(t *testing.T) {
				m := newMap[string, int](t, hasty())
				m.Store("a", 1)
				m.Store("b", 1)
				tx := m.Begin(c.opts)
				c.begin(m, tx)
				tx.Set("sum", 2)
				once(t, p, func() {
					if name == "committed by others" {
						requireValue(t, 2)(m.Load("sum"))
					}
					evictAll(t, m)
				})
				if err := tx.Commit(); c.commits {
					require.NoError(t, err)
					requireValue(t, 2)(m.Load("sum"))
				} else {
					require.Equal(t, ErrTxTooOld, err)
					requireAbsent[int](t)(m.Load("sum"))
					requireAbsent[int](t)(m.Load("another"))
					require.Zero(t, m.Stats().Conflicts)
					require.NoError(t, m.Reclaim(bg))
					require.Len(t, heads(m), len(contents(t, m)))
				}
				require.EqualValues(t, 1, m.Stats().Evicted)
				checkQuiet(t, m)
			})
		}
	}
}
