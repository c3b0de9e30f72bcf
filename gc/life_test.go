package gc_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/debug/leak"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// A reclaimer with nothing to do has no ticker. A key that is handed over starts it, is pruned at
// the next tick, and not looked at again.
func TestRest(t *testing.T) {
	for _, workers := range []int{-1, 0, 1, 3} {
		bubble(t, config{Workers: workers, Interval: time.Minute}, func(t *testing.T, f *fixture) {
			require.True(t, f.Resting())
			time.Sleep(5 * time.Hour)
			require.Zero(t, f.made())
			for round := range 3 {
				k := f.keys(1)[0]
				require.True(t, f.Resting())
				f.write(k)
				require.False(t, f.Resting())
				require.Zero(t, k.visited(), "a committer does not prune")
				made := f.made()
				f.ticks(1)
				require.Len(t, k.chain(), 1)
				require.Zero(t, f.Stats().Pending)
				require.False(t, k.isMarked())
				f.ticks(1)
				require.True(t, f.Resting())
				require.LessOrEqual(t, f.made()-made, uint64(2))
				require.Equal(t, uint64(round+1), f.Stats().Parks)
				made = f.made()
				time.Sleep(5 * time.Hour)
				require.Equal(t, made, f.made())
				require.Equal(t, 1, k.visited())
			}
		})
	}
}

// Close ends every goroutine, in whatever state it is, and may be called again,
// also at the same time.
func TestCloseEndsGoroutines(t *testing.T) {
	ignore := leak.Current()
	for _, workers := range []int{0, 1, 4} {
		f := start(t, config{Workers: workers})
		f.Close() // before it was started
		f.Close()

		f = start(t, config{Workers: workers, Interval: time.Nanosecond})
		r := f.begin()
		for _, k := range f.keys(100) {
			f.write(k)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(f.Close)
		}
		wg.Wait()
		r.end()
		f.Stop()
		f.Close()
		f.write(f.keys(1)[0])
		f.begin().end()
	}
	leak.VerifyNone(t, ignore)
}

// A cleanup that ends the ticker leaves alone the timer of a bubble that is over: to touch it would
// end the program.
func TestStopAfterBubble(t *testing.T) {
	var r *reclaimer
	synctest.Test(t, func(t *testing.T) {
		r = gc.NewReclaimer(config{Slots: epoch.NewSlots(), Visit: visit, Due: due})
		r.Wake()
	})
	require.False(t, r.Resting())
	r.Stop()
}

// Close waits for a worker that is visiting.
func TestCloseWaits(t *testing.T) {
	bubble(t, config{Workers: 1}, func(t *testing.T, f *fixture) {
		visiting := make(chan struct{})
		k := f.keys(1)[0]
		k.onVisit = func(*gc.View) { <-visiting }
		f.write(k)
		f.ticks(1)
		closed := make(chan struct{})
		go func() { f.Close(); close(closed) }()
		synctest.Wait()
		select {
		case <-closed:
			require.Fail(t, "closed while a worker is visiting")
		default:
		}
		close(visiting)
		<-closed
	})
}

// The keys handed over are visited before Close returns.
func TestCloseVisits(t *testing.T) {
	for _, workers := range []int{0, 1, 3} {
		f := start(t, config{Workers: workers, Interval: time.Hour})
		keys := f.keys(500)
		for _, k := range keys {
			f.write(k)
		}
		f.Close()
		settled(t, f, keys)
	}
}

// Without workers, and after Close, committers visit the keys handed over before: those that wait
// are bounded in number, and do not cost a view each.
func TestCommittersVisit(t *testing.T) {
	for _, closed := range []bool{false, true} {
		f := start(t, config{Workers: -1, Interval: time.Hour})
		if closed {
			f.Close()
		}
		const n = 20_000
		keys := f.keys(n)
		f.writeTwice(t, keys, 512)
		require.Less(t, f.Stats().CommitRefreshes.N, uint64(n/10))
		require.Zero(t, f.Stats().Fallbacks, "no queue was full")
		long := 0
		for _, k := range keys {
			long += len(k.chain()) - 1
		}
		require.LessOrEqual(t, long, 512)
	}
}

// After Close committers look, once in an interval at most, at the keys set aside: none is
// forgotten because nobody writes it again.
func TestSetAsideAndClosed(t *testing.T) {
	bubble(t, config{Workers: 2}, func(t *testing.T, f *fixture) {
		k := f.keys(1)[0]
		r := f.begin()
		f.slots.Next()
		f.ticks(3)
		f.write(k)
		f.ticks(1)
		require.Equal(t, 1, f.Stats().Aside)
		f.Close()
		f.write(k)
		require.Len(t, k.chain(), 2, "the writer visits, and keeps what is read")
		r.end()
		others := f.keys(1000)
		for range 3 {
			time.Sleep(f.interval)
			for _, o := range others {
				f.write(o)
			}
		}
		require.Zero(t, f.Stats().Aside)
		require.Len(t, k.chain(), 1)
		require.Zero(t, f.slots.Owned())
	})
}

// A manual reclaimer does nothing by itself, and by Reclaim everything.
func TestManual(t *testing.T) {
	trims := 0
	cfg := config{Workers: 3, Queue: 8, Manual: true, MaxAge: time.Minute, Trim: func() bool {
		trims++
		return false
	}}
	bubble(t, cfg, func(t *testing.T, f *fixture) {
		keys := f.keys(8)
		old := f.begin()
		for _, k := range keys {
			f.write(k)
		}
		f.ticks(100)
		require.Equal(t, 8, f.Stats().Pending)
		require.Zero(t, f.made())
		extra := f.keys(1)[0]
		f.write(extra) // the queue is full
		require.EqualValues(t, 1, f.Stats().Fallbacks)
		require.Equal(t, 9, f.Stats().Pending)
		for range 3 {
			require.NoError(t, f.Reclaim(t.Context()))
		}
		require.Equal(t, 8, f.Stats().Aside)
		require.Len(t, extra.chain(), 1, "made after the reader began")
		require.EqualValues(t, 3, f.Stats().ManualRefreshes.N)
		require.Equal(t, 3, trims)
		time.Sleep(time.Minute)
		require.NoError(t, f.Reclaim(t.Context()))
		require.True(t, old.slot.Evicted(old.gen))
		settled(t, f, append(keys, extra))
	})
}
