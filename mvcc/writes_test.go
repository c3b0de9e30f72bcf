package mvcc

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/stage"
)

func TestBlindWritesNeverConflict(t *testing.T) {
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		a, b := m.Begin(opts), m.Begin(opts)
		for i, tx := range []Tx[string, int]{a, b} {
			tx.Set("x", i)
			tx.Delete("y")
			tx.Set("n", i)
			requireValue(t, i)(tx.Get("n")) // an own write, not a read
		}
		m.Store("x", 77)
		require.NoError(t, b.Commit())
		m.Store("x", 78)
		require.NoError(t, a.Commit())
		require.Equal(t, map[string]int{"x": 0, "n": 0}, contents(t, m), "the later commit wins, whole")
	})
}

func TestFirstCommitterWins(t *testing.T) {
	m := newMap[string, int](t, nil)
	m.Store("x", 1)
	a, b, c := m.Begin(snapshot), m.Begin(snapshot), m.Begin(snapshot)
	for _, tx := range []Tx[string, int]{a, b, c} {
		tx.Get("other") // without any read there is nothing to lose
	}
	a.Set("x", 2)
	b.Set("x", 3)
	c.Set("z", 4)
	require.NoError(t, b.Commit())
	requireConflict(t, a.Commit(), "x", ConflictWrite)
	require.NoError(t, c.Commit())
	require.Equal(t, map[string]int{"x": 3, "z": 4}, contents(t, m))
	checkQuiet(t, m)
}

func TestFirstCommitterWinsOnNewKeys(t *testing.T) {
	for name, first := range map[string]func(m *Map[string, int]){
		"insert":            func(m *Map[string, int]) { m.Store("n", 1) },
		"insert and delete": func(m *Map[string, int]) { m.Store("n", 1); m.Delete("n"); prune(m) },
		"insert and delete, promoted": func(m *Map[string, int]) {
			m.Store("n", 1)
			m.Delete("n")
			reclaim(t, m, 5)
		},
		"delete of nothing": func(m *Map[string, int]) {
			_ = m.Update(bg, nil, func(tx Tx[string, int]) error { tx.Delete("n"); return nil })
			prune(m)
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMap[string, int](t, still())
			tx := m.Begin(snapshot)
			requireAbsent[int](t)(tx.Get("n"))
			tx.Set("n", 2)
			first(m)
			requireConflict(t, tx.Commit(), "n", ConflictWrite)
			checkQuiet(t, m)
		})
	}
}

// Whatever committed before Begin is seen, by whichever path it committed.
func TestStrict(t *testing.T) {
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		writes := []func(i int){
			func(i int) { m.Store("x", i) },
			func(i int) { m.Swap("x", i) },
			func(i int) { m.Delete("x"); m.LoadOrStore("x", i) },
			func(i int) { CompareAndSwap(m, "x", i-1, i) },
			func(i int) {
				_ = m.Update(bg, opts, func(tx Tx[string, int]) error { tx.Set("x", i); return nil })
			},
			func(i int) {
				_ = m.Update(bg, opts, func(tx Tx[string, int]) error {
					tx.Get("y")
					tx.Set("x", i)
					tx.Set("other", i)
					return nil
				})
			},
		}
		m.Store("x", 0)
		last := uint64(0)
		for i := 1; i <= 60; i++ {
			writes[i%len(writes)](i)
			tx := m.Begin(opts)
			requireValue(t, i)(tx.Get("x"))
			require.Greater(t, tx.Epoch(), last)
			last = tx.Epoch()
			tx.Rollback()
			s := m.Snapshot()
			requireValue(t, i)(s.Get("x"))
			s.Close()
			requireValue(t, i)(m.Load("x"))
		}
	})
}

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
		// What the commit inserted into the index leaves it again.
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
