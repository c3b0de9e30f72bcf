package gc_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
)

// Close ends every goroutine, in whatever state it is, and may be called again,
// also at the same time.
func TestCloseEndsGoroutines(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	for _, workers := range []int{0, 1, 4} {
		f := start(t, gc.Config[*key, uint64]{Workers: workers})
		f.Close() // before the first tick
		f.Close()

		f = start(t, gc.Config[*key, uint64]{Workers: workers, Interval: time.Nanosecond})
		r := f.begin()
		for range 100 {
			f.write(&key{})
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(f.Close)
		}
		wg.Wait()
		r.end()
		f.Stop()
		f.Close()
	}
	goleak.VerifyNone(t, ignore)
}

func TestCloseWhileParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, gc.Config[*key, uint64]{Workers: 3})
		f.ticks(1)
		require.True(t, f.Parked())
		f.Close()
		synctest.Wait()
	}) // the bubble complains about goroutines that are left
}

// Stop alone ends the goroutines too, without waiting for them.
func TestStop(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	f := start(t, gc.Config[*key, uint64]{Workers: 3})
	f.Stop()
	f.Stop()
	require.False(t, f.Offer(&key{}))
	goleak.VerifyNone(t, ignore)
}

// What was queued is pruned before Close returns.
func TestClosePrunesTheQueue(t *testing.T) {
	for _, workers := range []int{1, 3} {
		f := start(t, gc.Config[*key, uint64]{Workers: workers, Interval: time.Hour})
		keys := make([]*key, 500)
		for i := range keys {
			keys[i] = &key{}
			f.commit(keys[i])
			f.write(keys[i])
		}
		f.Close()
		for _, k := range keys {
			require.Len(t, k.chain(), 1)
			require.False(t, k.mark.Queued())
		}
		require.Zero(t, f.Stats().QueueDepth)
	}
}

// After Close committers prune what they write and, once in an interval at most,
// look at what was set aside: a key is not forgotten because nobody writes it
// again.
func TestPruneAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, gc.Config[*key, uint64]{Workers: 2})
		time.Sleep(f.interval / 2)
		f.Close()
		k := &key{}
		f.commit(k)
		r := f.begin()
		for range 3 {
			f.commit(k)
			require.False(t, f.Offer(k))
			require.False(t, k.mark.Queued())
			f.Prune(k)
			require.Len(t, k.chain(), 2, "what the reader needs, and the newest")
		}
		require.Zero(t, f.Stats().Fallbacks, "no queue was full")
		r.end()

		other := &key{}
		for range 3 {
			time.Sleep(f.interval)
			made := f.refreshes()
			for range 5 {
				f.commit(other)
				f.Prune(other)
				require.Len(t, other.chain(), 1)
			}
			require.LessOrEqual(t, f.refreshes(), made+1)
		}
		require.Len(t, k.chain(), 1)
		require.Zero(t, f.Stats().Aside)
	})
}

// An Offer that has passed its check when Close begins is not stranded: Close has
// drained the queue, so the offerer drains it again.
func TestOfferDuringClose(t *testing.T) {
	f := start(t, gc.Config[*key, uint64]{Workers: 1, Interval: time.Hour})
	k := &key{}
	var once sync.Once
	k.onMark = func() { once.Do(f.Close) } // after the check, before the enqueue
	f.commit(k)
	f.commit(k)
	f.handOver(k)
	require.False(t, k.mark.Queued())
	require.Len(t, k.chain(), 1)
	require.Zero(t, f.Stats().QueueDepth)
}

// The same with several offerers at once, which drain side by side.
func TestOffersDuringClose(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	const offerers = 3
	for round := range rounds {
		f := start(t, gc.Config[*key, uint64]{Workers: 1, Interval: time.Hour, Queue: 64})
		var arrived, closed atomic.Int64
		keys := make([]*key, offerers)
		var wg sync.WaitGroup
		for i := range keys {
			k := &key{}
			keys[i] = k
			first := true
			k.onMark = func() {
				if !first {
					return
				}
				first = false
				arrived.Add(1)
				for i := 0; closed.Load() == 0; i++ {
					if i > 2000 { // so that they go on in the same instant
						runtime.Gosched()
					}
				}
			}
			f.commit(k)
			f.commit(k)
			wg.Go(func() { f.handOver(k) })
		}
		for arrived.Load() < offerers {
			runtime.Gosched()
		}
		f.Close()
		closed.Store(1)
		wg.Wait()
		for i, k := range keys {
			require.False(t, k.mark.Queued(), "round %d: key %d is marked, and nobody will prune it", round, i)
			require.Len(t, k.chain(), 1, "round %d: key %d", round, i)
		}
	}
}

// Once pruned, a key is not kept reachable, neither by the queue nor by the list
// of those set aside. Nor do the goroutines keep an owner reachable whose cleanup
// stops them.
func TestNothingIsKeptReachable(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	const n = 64
	slots := epoch.NewSlots()
	type owner struct {
		r *gc.Reclaimer[*key, uint64]
		_ [64]byte
	}
	o := &owner{r: gc.NewReclaimer(gc.Config[*key, uint64]{Slots: slots, Interval: time.Millisecond, Workers: 2, Prune: prune,
		Release: func(uint64) {}})}
	runtime.AddCleanup(o, (*gc.Reclaimer[*key, uint64]).Stop, o.r)
	f := &fixture{Reclaimer: o.r, slots: slots}

	var collected atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		keys := make([]*key, n)
		for i := range keys {
			keys[i] = &key{}
			runtime.AddCleanup(keys[i], func(struct{}) { collected.Add(1) }, struct{}{})
			f.commit(keys[i])
		}
		r := f.begin()
		for _, k := range keys {
			f.write(k)
		}
		for f.Stats().Aside < n { // the ticker does it
			runtime.Gosched()
		}
		r.end()
		for f.Stats().Aside > 0 {
			runtime.Gosched()
		}
	})
	wg.Wait()
	gather := func(done func() bool) {
		for i := 0; !done() && i < 300; i++ {
			runtime.GC()
			for range 100 {
				runtime.Gosched()
			}
		}
	}
	gather(func() bool { return collected.Load() == n })
	require.Equal(t, int64(n), collected.Load())
	require.True(t, f.Offer(&key{}), "the owner is reachable, so the reclaimer works")
	runtime.KeepAlive(o)
	o = nil
	gather(func() bool { return !f.Offer(&key{}) })
	require.False(t, f.Offer(&key{}), "the owner is collected, so the reclaimer has stopped")
	goleak.VerifyNone(t, ignore)
}
