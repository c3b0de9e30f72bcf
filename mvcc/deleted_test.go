package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

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
