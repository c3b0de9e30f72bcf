package gc_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/gc"
)

// A transaction that is too old is evicted before anything is dropped that it could
// see, and what it alone kept goes with it.
func TestEvictionPrecedesPruning(t *testing.T) {
	for _, workers := range []int{0, 1, 3} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, gc.Config[*key, uint64]{Workers: workers, MaxAge: time.Minute, Interval: time.Second})
			k := &key{}
			first := f.commit(k)
			r := f.begin()
			k.onPrune = func(v *gc.View, visit *gc.Visit[uint64]) {
				k.interval(v, visit)
				if len(k.chain()) == 1 {
					require.True(t, r.slot.Evicted(r.gen), "its version was dropped before it was evicted")
				}
			}
			f.write(k)
			f.ticks(59)
			require.Contains(t, k.chain(), first)
			require.Zero(t, f.Stats().Evicted)
			f.ticks(3)
			require.Len(t, k.chain(), 1)
			require.EqualValues(t, 1, f.Stats().Evicted)
			require.True(t, r.slot.End(r.gen), "its owner gets the slot back")
			f.ticks(2)
			require.True(t, f.Parked())
		})
	}
}

// The age of a transaction counts from the first pass that sees it.
func TestAgeCountsFromFirstPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, gc.Config[*key, uint64]{Workers: 1, MaxAge: time.Minute, Interval: time.Second})
		f.ticks(2)
		require.True(t, f.Parked())
		r := f.begin()
		time.Sleep(time.Hour) // nobody sees it
		synctest.Wait()
		require.False(t, r.slot.Evicted(r.gen))
		k := &key{}
		f.commit(k)
		f.write(k)
		f.ticks(58)
		require.False(t, r.slot.Evicted(r.gen))
		f.ticks(4)
		require.True(t, r.slot.Evicted(r.gen))
	})
}

// A manual reclaimer does nothing by itself, and by Reclaim everything.
func TestManual(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trims := 0
		f := start(t, gc.Config[*key, uint64]{Workers: 3, Queue: 8, Manual: true, MaxAge: time.Minute, Trim: func() bool { trims++; return false }})
		var keys []*key
		old := f.begin()
		for range 8 {
			k := &key{}
			f.commit(k)
			f.write(k)
			keys = append(keys, k)
		}
		f.ticks(100)
		require.Equal(t, 8, f.Stats().QueueDepth)
		require.Zero(t, f.refreshes())
		extra := &key{}
		f.commit(extra)
		f.write(extra) // the queue is full
		require.Len(t, extra.chain(), 1)
		require.EqualValues(t, 1, f.Stats().Fallbacks)
		require.EqualValues(t, 1, f.Stats().FallbackRefreshes.N)
		require.NoError(t, f.Reclaim(t.Context()))
		for _, k := range keys {
			require.Len(t, k.chain(), 1)
			require.Equal(t, 1, k.pruned())
		}
		require.Zero(t, f.Stats().QueueDepth)
		require.EqualValues(t, 1, f.Stats().ManualRefreshes.N)
		require.Equal(t, 1, trims)
		time.Sleep(time.Minute)
		require.NoError(t, f.Reclaim(t.Context()))
		require.True(t, old.slot.Evicted(old.gen))
	})
}

// The ticker does not stop while there is something to trim.
func TestTrimBeforeParking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		more := 5
		f := start(t, gc.Config[*key, uint64]{Workers: 1, Trim: func() bool { more--; return more > 0 }})
		f.ticks(4)
		require.False(t, f.Parked())
		f.ticks(2)
		require.True(t, f.Parked())
		require.Zero(t, more)
	})
}

// The owner is told when the queue is empty, and how much is kept.
func TestCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []int // guarded by mu
		last := func() (kept, n int) {
			mu.Lock()
			defer mu.Unlock()
			return told[len(told)-1], len(told)
		}
		f := start(t, gc.Config[*key, uint64]{Workers: 1, CaughtUp: func(kept int) bool {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, kept)
			return len(told) > 5
		}})
		k, dead := &key{}, &key{}
		f.commit(k)
		r := f.begin()
		f.commit(dead)
		dead.deleted = true
		f.write(dead)
		f.write(k)
		f.ticks(2)
		kept, _ := last()
		require.Equal(t, 1, kept, "one version is kept, and a tombstone, which is not old")
		require.Equal(t, 2, f.Stats().Aside)
		require.Equal(t, 1, f.Stats().Kept)
		r.end()
		f.ticks(1)
		kept, n := last()
		require.Zero(t, kept)
		f.ticks(1)
		require.False(t, f.Parked(), "the owner is not satisfied")
		f.ticks(6 - n)
		require.True(t, f.Parked())
	})
}
