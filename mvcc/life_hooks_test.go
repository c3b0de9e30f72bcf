//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// recordOf returns what the record of the undecided head of key says.
func recordOf[K comparable, V any](t *testing.T, m *Map[K, V], key K) word {
	t.Helper()
	w, _ := coreOf(m).resolve(m.lookup(key).head)
	require.False(t, w.committed())
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
	a := newStage(t).actor("batch", func() { require.NoError(t, tx.Commit()) })
	a.to(hooks.CommitEntries)
	var says []word
	for range 2 * installStride {
		a.to(hooks.Installed)
		for i := range 2 * installStride {
			if w, _ := coreOf(m).resolve(m.lookup(i).head); !w.committed() {
				says = append(says, w)
				break
			}
		}
	}
	require.Equal(t, says[0]+installStep, says[installStride])
	require.Equal(t, says[0]+2*installStep, says[2*installStride-1])
	a.finish()
	checkQuiet(t, m)
}

func TestValidatorShowsLife(t *testing.T) {
	m := newMap[int, int](t, still())
	tx := m.Begin(nil)
	for i := range validateStride {
		tx.Get(i)
	}
	tx.Set(-1, 1)
	a := newStage(t).actor("validator", func() { require.NoError(t, tx.Commit()) })
	a.to(hooks.Tentative)
	before := recordOf(t, m, -1)
	a.to(hooks.Validated)
	require.Equal(t, before^checkBit, recordOf(t, m, -1))
	a.finish()
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
	a := newStage(t).actor("writer", func() { require.NoError(t, tx.Commit()) })
	a.to(hooks.Tentative)
	s := m.Snapshot()
	defer s.Close()
	require.Equal(t, recordOf(t, m, "a").epoch(), stateOf(s.st).epoch())
	requireValue(t, 1)(s.Get("a"))
	a.finish()
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
	a := newStage(t).actor("batch", func() { require.NoError(t, tx.Commit()) })
	a.to(hooks.InstalledAll)
	m.Store("a", 3)
	s := m.Snapshot()
	defer s.Close()
	requireValue(t, 3)(s.Get("a"))
	a.finish()
	requireValue(t, 3)(s.Get("a"))
	requireValue(t, 1)(s.Get("b"))
	require.Equal(t, map[string]int{"a": 2, "b": 2}, contents(t, m))
}
