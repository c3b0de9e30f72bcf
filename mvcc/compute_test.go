package mvcc

import (
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/engine/favour"
)

// fn is called anew when the key was written while it ran, and only its last result counts. It may
// write other keys itself.
func TestComputeAgain(t *testing.T) {
	m := newMap[string, int](t, still())
	m.Store("k", 1)
	var saw []int
	actual, ok := m.Compute("k", func(old int, loaded bool) (int, ComputeOp) {
		saw = append(saw, old)
		m.Store("l", old)
		switch len(saw) {
		case 1:
			m.Store("k", 2)
			return old, DeleteOp
		case 2:
			m.Delete("k")
		}
		return old + 10, UpdateOp
	})
	require.Equal(t, []int{1, 2, 0}, saw)
	require.True(t, ok)
	require.Equal(t, 10, actual)
	require.Equal(t, map[string]int{"k": 10, "l": 0}, contents(t, m))
	checkQuiet(t, m)
}

// A function that takes its time gets its turn: those that write the key let it go first.
func TestComputeGetsItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[string, int](still())
		defer m.Close()
		var stop atomic.Bool
		calls := 0
		actual, _ := m.Compute("k", func(old int, _ bool) (int, ComputeOp) {
			calls++
			defer time.Sleep(2 * favour.MinGrantTime)
			done := make(chan struct{})
			go func() {
				defer close(done)
				m.Store("k", old+1) // waits for the turn to end
			}()
			synctest.Wait()
			select {
			case <-done:
			default:
				stop.Store(true)
			}
			return 1000, UpdateOp
		})
		synctest.Wait()
		require.Equal(t, bidLosses+1, calls)
		require.True(t, stop.Load(), "the last rival did not give way")
		require.Equal(t, 1000, actual)
		require.Zero(t, coreOf(m).favour.Stats().Held)
		requireValue(t, bidLosses+1)(m.Load("k"))
	})
}

// Panics of Compute itself: those of functions of the user are in TestCalled.
func TestComputePanics(t *testing.T) {
	m := newMap[float64, int](t, still())
	m.Store(1, 1)
	at := m.Epoch()
	bad := "mvcc: Compute: fn returned ComputeOp(3), want CancelOp, UpdateOp or DeleteOp"
	require.PanicsWithValue(t, bad, func() {
		m.Compute(1, func(int, bool) (int, ComputeOp) { return 5, 3 })
	})
	nan := math.NaN()
	require.PanicsWithValue(t, ErrBadKey, func() {
		m.Compute(nan, func(int, bool) (int, ComputeOp) { return 1, UpdateOp })
	})
	require.PanicsWithValue(t, ErrBadKey, func() {
		m.LoadOrCompute(nan, func() (int, bool) { return 1, false })
	})
	require.False(t, CompareAndDelete(m, nan, 1))
	require.Equal(t, at, m.Epoch())
	requireValue(t, 1)(m.Load(1))
	checkQuiet(t, m)
}

// Clear is one transaction: a reader before it reads all, and one after it nothing.
func TestClear(t *testing.T) {
	m := newMap[int, int](t, nil)
	const n = 1000
	for i := range n {
		m.Store(i, i)
	}
	s := m.Snapshot()
	at := m.Epoch()
	m.Clear()
	require.Equal(t, at+1, m.Epoch(), "one commit")
	require.Equal(t, n, s.Len())
	s.Close()
	require.Zero(t, m.Len())
	require.Empty(t, contents(t, m))
	m.Clear()
	require.Equal(t, at+1, m.Epoch(), "there is nothing to clear")
	m.Store(1, 1)
	require.Equal(t, map[int]int{1: 1}, contents(t, m))
	checkQuiet(t, m)
}

// DeleteFunc asks again about a value that was written while it was asked.
func TestDeleteFunc(t *testing.T) {
	m := newMap[int, int](t, nil)
	for i := range 100 {
		m.Store(i, i)
	}
	asked := map[int]int{}
	n := m.DeleteFunc(func(key, value int) bool {
		if asked[key]++; asked[key] == 1 && key%3 == 0 {
			m.Store(key, -1)
		}
		return value >= 0 && key%2 == 0
	})
	want := 0
	for i := range 100 {
		switch {
		case i%6 == 0:
			require.Equal(t, 2, asked[i])
			requireValue(t, -1)(m.Load(i))
		case i%2 == 0:
			want++
			requireAbsent[int](t)(m.Load(i))
		}
	}
	require.Equal(t, want, n)
	checkQuiet(t, m)
}
