package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// Pending work is done, in spite of all that happens meanwhile.

// Deleted keys wait for those that may write, and not for readers that began later.
func TestTombstonesWaitForWriters(t *testing.T) {
	m := newMap[int, int](t, &Options{ManualReclaim: true})
	m.Store(-1, 0)
	first := m.Begin(nil)
	m.Store(-2, 0)
	second := m.Begin(nil)
	m.Store(-3, 0)
	s := m.Snapshot()
	defer s.Close()
	reclaim(t, m, 5)
	for i := range 1000 {
		m.Store(i, 1)
		m.Delete(i)
	}
	reclaim(t, m, 5)
	require.Equal(t, 1003, m.Stats().Entries)
	require.Equal(t, 1000, m.Stats().Aside)
	m.Store(7, 7) // one of them is there again
	first.Rollback()
	reclaim(t, m, 5)
	require.Equal(t, 1003, m.Stats().Entries, "another one began before")
	second.Rollback()
	reclaim(t, m, 5)
	require.Equal(t, 4, m.Stats().Entries)
	require.Zero(t, m.Stats().Aside)
	requireAbsent[int](t)(s.Get(7))
}

// After Close committers do the pending work: also that of readers that end later, and that kept
// for transactions that are not open any more.
func TestClosedMapForgets(t *testing.T) {
	n := stage.Sizes(20_000, 2_000)
	m := newMap[int, int](t, nil)
	for i := range n {
		m.Store(i, 1)
	}
	s := m.Snapshot()
	for i := range n {
		m.Store(i, 2)
	}
	reclaim(t, m, 5)
	require.Equal(t, n, m.Stats().Aside)
	m.Close()
	for i := range n {
		m.Delete(i)
	}
	closeAll(burst(m, n))
	s.Close()
	stage.Eventually(t, func() bool {
		for i := range 1000 {
			m.Store(i, 3)
			m.Store(-1, i)
		}
		return coreOf(m).Slots.Owned() < n/4 && m.Stats().Aside == 0 && len(heads(m)) <= 1001
	}, "a closed map keeps what is over")
}
