package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/engine/index"
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

// The number of entries that wait for a transaction that may write is bounded by the keys, not by
// how often they are deleted while it is open.
func TestDeletedAgainAndAgain(t *testing.T) {
	const keys = 10
	m := newMap[int, int](t, &Options{ManualReclaim: true})
	// A peak is forgotten.
	w := m.Begin(nil)
	reclaim(t, m, 4)
	for key := range 5000 {
		m.Store(key, 1)
		m.Delete(key)
	}
	reclaim(t, m, 1)
	require.Equal(t, 5000, m.Stats().Aside)
	w.Rollback()
	reclaim(t, m, 1)

	w = m.Begin(nil)
	reclaim(t, m, 4)
	most := 0
	for round := range stage.Sizes(1000, 500) {
		for key := range keys {
			m.Store(key, round)
			m.Delete(key)
		}
		reclaim(t, m, 1)
		s := m.Stats()
		require.Equal(t, keys, s.Versions, "round %d", round)
		most = max(most, s.Aside)
	}
	require.Less(t, most, 1200)
	require.GreaterOrEqual(t, most, 1000, "they are looked through now and then only")
	w.Rollback()
	reclaim(t, m, 1)
	s := m.Stats()
	require.Zero(t, s.Aside)
	require.Zero(t, s.Entries)
}

// The index of a map has a size for its keys, whatever they do.

// When most keys are gone the index shrinks, even if nothing happens any more.
func TestIndexShrinksAtRest(t *testing.T) {
	n := stage.Sizes(200_000, 20_000)
	for _, manual := range []bool{false, true} {
		m := newMap[int, int](t, &Options{ManualReclaim: manual, ReclaimQueue: n})
		for i := range n {
			m.Store(i, i)
		}
		for i := range n {
			m.Delete(i)
		}
		if manual {
			require.NoError(t, m.Reclaim(bg))
		}
		small := func() bool { return m.index.Size() == index.MinBuckets && m.index.Fits() }
		stage.Eventually(t, small, "the index stays large")
	}
}
