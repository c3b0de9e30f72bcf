package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The slot of an old transaction is not begun in again, nor is its state used: scans
// pass over that slot.
func TestStateOfOldTransactionIsNotUsedAgain(t *testing.T) {
	m := newMap[int, int](t, &Options{ManualReclaim: true})
	for i := range 10 {
		m.Store(1, i)
		s := m.Snapshot()
		m.Store(1, -1)
		for range 4 {
			require.NoError(t, m.Reclaim(bg))
		}
		require.Equal(t, 1, m.Stats().Aside, "the snapshot is an old one")
		st := s.st
		s.Close()
		m.Store(1, i)
		next := m.Snapshot()
		require.NotSame(t, st, next.st)
		m.Store(1, -1)
		require.NoError(t, m.Reclaim(bg))
		requireValue(t, i)(next.Get(1))
		next.Close()
		require.NoError(t, m.Reclaim(bg))
		require.Equal(t, 1, m.Stats().Versions)
	}
}
