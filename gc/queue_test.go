package gc_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/gc"
)

func TestOfferQueuesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, gc.Config[*key, uint64]{Workers: 1, Queue: 4})
		k := &key{}
		require.False(t, k.mark.Queued())
		for i := range 10 {
			f.commit(k)
			require.True(t, f.Offer(k))
			require.True(t, k.mark.Queued())
			require.Equal(t, 1, f.Stats().QueueDepth, "offer %d", i)
		}
		require.Zero(t, k.pruned(), "Offer does not prune")
		f.ticks(1)
		require.False(t, k.mark.Queued())
		require.Equal(t, 1, k.pruned())
		require.Len(t, k.chain(), 1)
		require.Zero(t, f.Stats().QueueDepth)

		// Then it can be queued again.
		f.commit(k)
		require.True(t, f.Offer(k))
		require.True(t, k.mark.Queued())
		f.ticks(1)
		require.Equal(t, 2, k.pruned())
		require.Zero(t, f.Stats().Fallbacks)
	})
}

func TestOfferRefusedWhenFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, gc.Config[*key, uint64]{Workers: 1, Queue: 4, Interval: time.Second})
		// Half full wakes the ticker: keep it from draining.
		hold := make(chan struct{})
		held := &key{onPrune: func(*gc.View, *gc.Visit[uint64]) { <-hold }}
		require.True(t, f.Offer(held))
		f.ticks(1)
		require.Equal(t, 1, held.pruned())

		var queued []*key
		for range 4 {
			k := &key{}
			f.commit(k)
			require.True(t, f.Offer(k))
			queued = append(queued, k)
		}
		for i := range 3 {
			refused := &key{}
			f.commit(refused)
			f.commit(refused)
			require.False(t, f.Offer(refused))
			require.False(t, refused.mark.Queued(), "it can be offered again")
			require.Equal(t, uint64(i+1), f.Stats().Fallbacks)
			f.Prune(refused)
			require.Len(t, refused.chain(), 1, "the committer does the work, with a view that shows its commit")
			require.Zero(t, f.Stats().Aside)
		}
		require.True(t, f.Offer(queued[2]), "a key that is queued already needs no room")
		require.Equal(t, uint64(3), f.Stats().Fallbacks)
		require.Equal(t, 4, f.Stats().QueueDepth)
		close(hold)
		synctest.Wait()
		for _, k := range queued {
			require.Equal(t, 1, k.pruned())
		}
	})
}

func TestOfferRefusedWithoutWorkers(t *testing.T) {
	for _, workers := range []int{0, -1} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, gc.Config[*key, uint64]{Workers: workers})
			k := &key{}
			f.commit(k)
			f.commit(k)
			require.False(t, f.Offer(k))
			require.False(t, k.mark.Queued())
			require.Zero(t, f.Stats().Fallbacks, "no queue was full")
			f.Prune(k)
			require.Len(t, k.chain(), 1)
			f.ticks(3)
			require.Equal(t, 1, k.pruned())
		})
	}
}

// A committer that finds the key marked relies on a prune that sees its version.
// So the mark goes before the prune: what is written and offered while the prune
// runs is queued anew.
func TestMarkIsOffBeforePrune(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, gc.Config[*key, uint64]{Workers: 1})
		k := &key{}
		k.onPrune = func(v *gc.View, visit *gc.Visit[uint64]) {
			k.interval(v, visit)
			if k.pruned() == 1 {
				f.write(k) // too late for this prune
			}
		}
		f.write(k)
		f.ticks(3)
		require.Equal(t, 2, k.pruned())
		require.Len(t, k.chain(), 1)
		require.False(t, k.mark.Queued())
	})
}

// A version above the bound of the view stays for the next tick.
func TestLaterIsQueuedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, gc.Config[*key, uint64]{Workers: 1})
		k := &key{}
		var views []*gc.View
		k.onPrune = func(v *gc.View, visit *gc.Visit[uint64]) {
			views = append(views, v)
			if len(views) == 1 {
				f.commit(k) // its committer finds k no longer queued, but does not get to it
			}
			k.interval(v, visit)
		}
		f.commit(k)
		f.write(k)
		f.ticks(1)
		require.Len(t, views, 1)
		require.Len(t, k.chain(), 2, "one above the bound, one at it")
		require.True(t, k.mark.Queued())
		f.ticks(1)
		require.Len(t, views, 2)
		require.NotSame(t, views[0], views[1])
		require.Len(t, k.chain(), 1)
		require.False(t, k.mark.Queued())
		f.ticks(5)
		require.Len(t, views, 2)
	})
}

// If a key with versions above the bound cannot be queued again, it is pruned at
// once with a view of its own: others may have relied on its mark.
func TestLaterWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, gc.Config[*key, uint64]{Workers: 1, Queue: 1})
		k, filler := &key{}, &key{}
		k.onPrune = func(v *gc.View, visit *gc.Visit[uint64]) {
			if k.pruned() == 1 {
				f.commit(k)
				f.write(filler)
			}
			k.interval(v, visit)
		}
		f.commit(k)
		f.write(k)
		f.ticks(1)
		require.Equal(t, 2, k.pruned())
		require.Len(t, k.chain(), 1)
		require.Equal(t, uint64(1), f.Stats().Fallbacks)
		f.ticks(1)
		require.Equal(t, 1, filler.pruned())
		require.Zero(t, f.Stats().QueueDepth)
	})
}

// A queue that is half full is drained before the next tick.
func TestHalfFullIsDrainedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, gc.Config[*key, uint64]{Workers: 1, Queue: 8, Interval: time.Hour})
		defer f.begin().end() // keeps the ticker from parking
		f.ticks(1)
		var keys []*key
		for range 3 {
			keys = append(keys, &key{})
			f.write(keys[len(keys)-1])
		}
		synctest.Wait()
		require.Equal(t, 3, f.Stats().QueueDepth, "less than half waits for the tick")
		keys = append(keys, &key{})
		f.write(keys[3])
		synctest.Wait() // no time passes
		require.Zero(t, f.Stats().QueueDepth)
		for _, k := range keys {
			require.Equal(t, 1, k.pruned())
		}
	})
}

// Every worker drains, and together they drain everything.
func TestWorkersDrain(t *testing.T) {
	for _, workers := range []int{1, 2, 3} {
		t.Run(fmt.Sprint("workers=", workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, gc.Config[*key, uint64]{Workers: workers, Queue: 1024, Interval: time.Second})
				var inside, most atomic.Int64
				slow := func(*gc.View, *gc.Visit[uint64]) {
					n := inside.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					time.Sleep(time.Millisecond) // until all workers are here
					inside.Add(-1)
				}
				keys := make([]*key, 300)
				for i := range keys {
					keys[i] = &key{onPrune: slow}
					f.write(keys[i])
				}
				f.ticks(4)
				for _, k := range keys {
					require.Equal(t, 1, k.pruned())
					require.False(t, k.mark.Queued())
				}
				require.Equal(t, int64(workers), most.Load())
				require.Zero(t, f.Stats().QueueDepth)
			})
		})
	}
}
