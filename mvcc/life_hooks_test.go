//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/chain"
	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/stage"
)

// recordOf returns what the record of the undecided head of key says.
func recordOf[K comparable, V any](t *testing.T, m *Map[K, V], key K) chain.Word {
	t.Helper()
	w, _ := coreOf(m).Resolve(m.lookup(key).head)
	require.False(t, w.Committed())
	return w
}

func TestInstallerShowsLife(t *testing.T) {
	m := newMap[int, int](t, still())
	for i := range 2 * installStride {
		m.Store(i, 0)
	}
	tx := m.Begin(nil)
	for i := range 2 * installStride {
		tx.Set(i, 1)
	}
	a := stage.New(t).Actor("batch", func() { require.NoError(t, tx.Commit()) })
	a.To(hooks.CommitEntries)
	var says []chain.Word
	for range 2 * installStride {
		a.To(hooks.Installed)
		for i := range 2 * installStride {
			if w, _ := coreOf(m).Resolve(m.lookup(i).head); !w.Committed() {
				says = append(says, w)
				break
			}
		}
	}
	require.Equal(t, says[0]+chain.InstallStep, says[installStride])
	require.Equal(t, says[0]+2*chain.InstallStep, says[2*installStride-1])
	a.Finish()
	checkQuiet(t, m)
}

// A snapshot begins at the very epoch of a tentative writer.
func TestReaderAtTentativeEpoch(t *testing.T) {
	m := newMap[string, int](t, still())
	m.Store("a", 1)
	m.Store("b", 1)
	tx := m.Begin(nil)
	tx.Get("a")
	tx.Get("never written")
	tx.Set("a", 2)
	tx.Set("b", 2)
	a := stage.New(t).Actor("writer", func() { require.NoError(t, tx.Commit()) })
	a.To(hooks.Tentative)
	s := m.Snapshot()
	defer s.Close()
	require.Equal(t, recordOf(t, m, "a").Epoch(), stateOf(s.st).epoch())
	requireValue(t, 1)(s.Get("a"))
	a.Finish()
	requireValue(t, 1)(s.Get("b"))
	requireValue(t, 1)(s.Get("a"))
}

// A writer aborts a batch and commits on top of what that had installed. The
// batch takes off what is its own, and no more.
func TestWithdrawKeepsWhatIsAbove(t *testing.T) {
	m := newMap[string, int](t, still())
	m.Store("a", 1)
	m.Store("b", 1)
	tx := m.Begin(nil)
	tx.Set("a", 2)
	tx.Set("b", 2)
	a := stage.New(t).Actor("batch", func() { require.NoError(t, tx.Commit()) })
	a.To(hooks.InstalledAll)
	m.Store("a", 3)
	s := m.Snapshot()
	defer s.Close()
	requireValue(t, 3)(s.Get("a"))
	a.Finish()
	requireValue(t, 3)(s.Get("a"))
	requireValue(t, 1)(s.Get("b"))
	require.Equal(t, map[string]int{"a": 2, "b": 2}, contents(t, m))
}
