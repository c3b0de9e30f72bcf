package mvcc

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/leak"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// Handles and maps that nobody ends.

func TestMain(m *testing.M) {
	leak.VerifyTestMain(m)
}

// collect runs the garbage collector until cond holds.
func collect(t *testing.T, cond func() bool, what string) {
	t.Helper()
	stage.Eventually(t, func() bool { runtime.GC(); return cond() }, "%s", what)
}

func TestLeakedHandlesAreReclaimed(t *testing.T) {
	m := newMap[int, int](t, brisk())
	m.Store(1, 0)
	const n = 100
	func() {
		for range n {
			m.Snapshot()
			tx := m.Begin(nil)
			tx.Get(1)
			tx.Set(2, 2)
		}
	}()
	kept := m.Snapshot()
	for i := range 100 {
		m.Store(1, i+1)
	}
	m.Delete(2)
	collect(t, func() bool { return m.Stats().Leaked == 2*n }, "leaked handles are not reclaimed")
	require.Equal(t, 1, m.Stats().LiveTx)
	requireValue(t, 0)(kept.Get(1))
	kept.Close()
	stage.Eventually(t, func() bool {
		return len(chainOf(m, 1)) == 1
	}, "versions stay that only leaked handles saw")
	require.NotContains(t, contents(t, m), 2)
	// So are their slots.
	few := func() bool { return coreOf(m).Slots.Owned() < 10 }
	stage.Eventually(t, few, "slots of leaked handles stay")
	require.EqualValues(t, 2*n, m.Stats().Leaked)
}

// A handle in use is not taken for leaked, however long its walk.
func TestHandleInUseIsNotReclaimed(t *testing.T) {
	m := newMap[int, int](t, brisk())
	for i := range 10 {
		m.Store(i, 1)
	}
	read := func(all func(func(int, int) bool)) {
		n := 0
		all(func(key, value int) bool {
			for i := range 10 {
				m.Store(i, 2+n)
			}
			runtime.GC()
			runtime.GC()
			require.Equal(t, 1, value)
			n++
			return true
		})
		require.Equal(t, 10, n)
		for i := range 10 {
			m.Store(i, 1)
		}
	}
	read(m.Snapshot().All()) // reachable through its iterator only
	read(m.Begin(nil).All())
	read(m.Begin(snapshot).All())
	collect(t, func() bool { return m.Stats().Leaked == 3 }, "leaked handles are not reclaimed")
}

func TestUnreachableMapEndsItsGoroutines(t *testing.T) {
	defer leak.VerifyNone(t, leak.Current())
	stopped := make(chan struct{}, 4)
	func() {
		for workers := range 4 {
			m := New[int, *int](&Options{ReclaimWorkers: workers,
				ReclaimInterval: time.Duration(1+workers%2) * time.Millisecond})
			runtime.AddCleanup(m, func(c chan struct{}) { c <- struct{}{} }, stopped)
			for i := range 100 {
				m.Store(i, &i)
				m.Store(i, &i)
			}
			m.Snapshot() // leaked too
			tx := m.Begin(nil)
			tx.Set(1, nil)
		}
	}()
	n := 0
	collect(t, func() bool {
		for {
			select {
			case <-stopped:
				n++
			default:
				return n == 4
			}
		}
	}, "the map stays reachable")
}

// A handle keeps its map.
func TestHandleKeepsMap(t *testing.T) {
	s := func() Snapshot[int, int] {
		m := New[int, int](brisk())
		m.Store(1, 1)
		return m.Snapshot()
	}()
	for range 3 {
		runtime.GC()
	}
	requireValue(t, 1)(s.Get(1))
	mapOf[int, int](s.st.engine()).Close()
}

func TestCloseEndsGoroutines(t *testing.T) {
	defer leak.VerifyNone(t, leak.Current())
	for _, workers := range []int{-1, 0, 1, 4} {
		m := New[int, int](&Options{ReclaimWorkers: workers})
		m.Store(1, 1)
		s := m.Snapshot()
		c := stage.NewWorkers(t)
		c.Run(4, func(int) error { m.Close(); return nil })
		c.Wait(t)
		// The map is as usable as before.
		m.Store(1, 2)
		m.Store(2, 2)
		requireValue(t, 1)(s.Get(1))
		mustUpdate(t, m, nil, func(tx Tx[int, int]) { tx.Set(3, 3) })
		require.Equal(t, map[int]int{1: 2, 2: 2, 3: 3}, contents(t, m))
		s.Close()
		checkQuiet(t, m)
	}
}
