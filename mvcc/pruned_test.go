package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every version of a transaction with several keys counts among those that were pruned.
func TestStatsCountPrunedVersions(t *testing.T) {
	m := newMap[int, int](t, &Options{ManualReclaim: true})
	for round := range 5 {
		require.NoError(t, m.Update(bg, nil, func(tx Tx[int, int]) error {
			for key := range 10 {
				tx.Set(key, round)
			}
			return nil
		}))
	}
	require.NoError(t, m.Reclaim(bg))
	s := m.Stats()
	require.Equal(t, 10, s.Versions)
	require.EqualValues(t, 40, s.Pruned)
}

// Versions are counted exactly while some wait for an old transaction: an old value, a
// tombstone, and what has been written since.
func TestStatsCountWhatWaits(t *testing.T) {
	m := newMap[int, int](t, &Options{ManualReclaim: true, PruneThreshold: countMax})
	check := func(aside int) {
		t.Helper()
		n := 0
		for _, e := range heads(m) {
			for v := e.head; v != nil; v = v.next.Load() {
				n++
			}
		}
		s := m.Stats()
		require.Equal(t, n, s.Versions)
		require.Equal(t, aside, s.Aside)
	}
	reclaim := func() {
		for range 4 {
			require.NoError(t, m.Reclaim(bg))
		}
	}
	m.Store(1, 1)
	for range 3 {
		tx := m.Begin(nil)
		m.Store(1, 2)
		m.Store(2, 2)
		m.Delete(2)
		reclaim()
		check(2)
		m.Store(1, 3)
		check(2)
		tx.Rollback()
		reclaim()
		check(0)
	}
}
