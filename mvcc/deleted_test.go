package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/chain"
	"github.com/mvccmap/mvccmap/internal/stage"
)

// A tombstone waits for an old transaction that may write. It is written over, kept for a
// snapshot, young or old, and dropped when that ends, though the transaction goes on.
func TestTombstoneThatWaitsIsWrittenOver(t *testing.T) {
	for name, passes := range map[string]int{"young": 1, "old": 4} {
		t.Run(name, func(t *testing.T) {
			m := newMap[int, int](t, &Options{ManualReclaim: true, PruneThreshold: chain.CountMax})
			m.Store(2, 2)
			w := m.Begin(nil)
			reclaim(t, m, 4)
			m.Store(1, 1)
			m.Delete(1)
			reclaim(t, m, 1)
			require.Len(t, chainOf(m, 1), 1, "the tombstone")
			r := m.Snapshot()
			m.Store(1, 2)
			reclaim(t, m, passes)
			require.Len(t, chainOf(m, 1), 2, "r sees that there is nothing")
			require.Equal(t, 3, m.Stats().Versions)
			_, there := r.Get(1)
			require.False(t, there)
			r.Close()
			reclaim(t, m, 3)
			require.Len(t, chainOf(m, 1), 1)
			require.Equal(t, 2, m.Stats().Versions)
			w.Rollback()
			reclaim(t, m, 1)
			require.Zero(t, m.Stats().Aside)
		})
	}
}

// What waits for a transaction that may write is bounded by the keys, not by how often
// they are deleted while it is open.
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
