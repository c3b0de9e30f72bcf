package mvcc

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

func TestConflictLeavesNothing(t *testing.T) {
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		before := len(heads(m))
		tx := m.Begin(opts)
		tx.Get("x")
		tx.Set("x", 11)
		for i := range 200 {
			tx.Set(fmt.Sprint("new", i), i)
		}
		m.Store("x", 12)
		requireConflict(t, tx.Commit(), "x", ConflictRead, ConflictWrite)
		require.Equal(t, map[string]int{"x": 12, "y": 10}, contents(t, m))
		// The keys that the commit inserted into the index leave it again.
		stage.Eventually(t, func() bool { return len(heads(m)) == before },
			"%d entries stay in the index", len(heads(m))-before)
	})
}

func TestStatsCountCommits(t *testing.T) {
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		before := m.Stats()
		m.Store("x", 1)
		m.Delete("x")
		m.Delete("x") // nothing to delete
		m.Load("x")
		m.LoadOrStore("x", 3)
		m.LoadOrStore("x", 4) // not stored
		CompareAndSwap(m, "x", 3, 5)
		CompareAndSwap(m, "x", 3, 6) // not swapped
		mustUpdate(t, m, opts, func(tx Tx[string, int]) { tx.Get("x") })
		mustUpdate(t, m, opts, func(tx Tx[string, int]) {
			tx.Set("x", 1)
			tx.Set("y", 1)
		})
		tx := m.Begin(opts)
		tx.Get("x")
		tx.Set("x", 2)
		m.Store("x", 3)
		require.Error(t, tx.Commit())
		after := m.Stats()
		require.EqualValues(t, 6, after.Commits-before.Commits)
		require.EqualValues(t, 1, after.Conflicts-before.Conflicts)
		require.EqualValues(t, 3, after.Ended-before.Ended)
		require.Zero(t, after.Retries)
	})
}
