package mvcc

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/leak"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// whenCollected waits until done reports true, and collects garbage again and again.
func whenCollected(t *testing.T, done func() bool, what string) {
	t.Helper()
	stage.Eventually(t, func() bool {
		runtime.GC()
		return done()
	}, "%s", what)
}

// Channels and watches that nobody can reach are given back, whatever their context; those that
// somebody can reach, or waits for, are not.
func TestDropped(t *testing.T) {
	live, cancel := context.WithCancel(t.Context())
	defer cancel()
	for name, ctx := range map[string]context.Context{"background": bg, "live": live} {
		t.Run(name, func(t *testing.T) {
			db := newDB(t, nil)
			m := NewOrderedTable[int, int](db, "m", nil)
			ix, err := NewIndex(m, "values", func(_, v int) []int { return []int{v} }, nil)
			require.NoError(t, err)
			m.Store(1, 1)
			s, h := m.Snapshot(), &coreOf(m).shared.hub
			kept := s.Changed(ctx, 1)
			waited := make(chan struct{})
			go func() {
				<-ix.Changed(ctx, s, 1)
				close(waited)
			}()
			stage.Eventually(t, func() bool { return h.listening.Load() == 2 }, "they have not begun")
			watch := m.Watch(ctx, nil)
			db.Watch(ctx, &DBWatchOptions{Progress: true})
			for range 100 {
				s.Changed(ctx, 1)
				ix.Changed(ctx, s, 1)
				m.Watch(ctx, &WatchOptions[int, int]{Since: s})
			}
			m.Store(7, 7) // it waits for the watches
			whenCollected(t, func() bool {
				return h.listening.Load() == 3 && h.waiting.Load() == 1
			}, "what was dropped is not given back")
			m.Store(1, 2)
			stage.Await(t, kept, "the channel is not closed")
			stage.Await(t, waited, "the channel is not closed")
			n := 0
			for c, err := range watch {
				require.NoError(t, err)
				runtime.GC() // a loop reaches its watch
				require.Equal(t, []int{7, 1}[n], c.Changes[0].Key)
				if n++; n == 2 {
					break
				}
			}
			s.Close()
			stage.Eventually(t, func() bool { return coreOf(m).feed() == nil }, "the map is still watched")
		})
	}
}

// A watch, or a channel, does not keep the snapshot that it was made with, if that is dropped.
func TestWatchesKeepNoSnapshot(t *testing.T) {
	m := NewOrdered[int, int](nil)
	defer m.Close()
	m.Store(1, 1)
	watch := m.Watch(bg, &WatchOptions[int, int]{Since: m.Snapshot(), Keys: From(1)})
	changed := m.Snapshot().Changed(bg, 1)
	whenCollected(t, func() bool { return m.Stats().LiveTx == 0 }, "a snapshot stays")
	m.Store(1, 2)
	stage.Await(t, changed, "the channel is not closed")
	for _, err := range watch {
		require.NoError(t, err)
		break
	}
}

// The memory that a map keeps for dropped listeners ends with them, even if nobody writes any more;
// so does the map.
func TestDroppedMapWithWatch(t *testing.T) {
	gone := make(chan struct{})
	func() {
		m := New[int, *[1 << 10]int](nil)
		value := new([1 << 10]int)
		runtime.AddCleanup(value, func(c chan struct{}) { close(c) }, gone)
		m.Store(1, value)
		m.Watch(bg, nil)
		m.Snapshot().Changed(bg, 1)
	}()
	whenCollected(t, func() bool {
		select {
		case <-gone:
			return true
		case <-time.After(time.Millisecond):
			return false
		}
	}, "a map that was dropped with its watches stays")
}

// A key that was written and deleted since the snapshot has changed, as long as that is known.
func TestChangedOfDeleted(t *testing.T) {
	m := NewOrdered[int, int](still())
	defer m.Close()
	m.Store(1, 1)
	s := m.Snapshot()
	defer s.Close()
	m.Store(2, 2)
	m.Delete(2)
	stage.Await(t, s.Changed(bg, 2), "the channel is not closed")
}

// Changes that wait for a watch which has missed some are given back when nobody can reach the
// watch, though the hub, which has taken it out before, makes no rounds any more.
func TestWatchDroppedBehindGap(t *testing.T) {
	m := newMap[int, int](t, nil)
	loop := m.Watch(bg, &WatchOptions[int, int]{Buffer: 10})
	for k := 0; m.Stats().Watches > 0; k++ {
		m.Store(k%100, k)
	}
	require.Positive(t, m.Stats().WatchWaiting)
	runtime.KeepAlive(loop)
	whenCollected(t, func() bool { return m.Stats().WatchWaiting == 0 }, "what waits is kept")
}

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
