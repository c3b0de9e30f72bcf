package gc_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
)

// A view lists every live read epoch below its bound: there is no limit.
func TestViewHasAllLiveEpochs(t *testing.T) {
	const n = 3000
	f := start(t, gc.Config[*key, uint64]{Interval: time.Hour})
	require.Equal(t, &gc.View{Bound: epoch.First}, f.View())
	var readers []reader
	var want []uint64
	k := &key{}
	for range n {
		want = append(want, f.commit(k))
		readers = append(readers, f.begin(), f.begin())
	}
	newest := f.commit(k)
	require.Equal(t, uint64(epoch.First), f.View().Bound, "views are made on request")
	f.Refresh()
	v := f.View()
	require.Equal(t, &gc.View{Bound: newest, Live: want}, v)
	s := f.Stats()
	require.Equal(t, newest, s.Bound)
	require.Equal(t, want[0], s.MinVisible)
	require.Equal(t, n, s.LiveEpochs)

	// So pruning drops nothing that any of them needs, and each that no longer
	// reads costs its version.
	require.Equal(t, n, waits(k, v))
	require.Len(t, k.chain(), n+1)
	for i, r := range readers {
		if i%4 < 2 {
			r.end()
		}
	}
	f.Refresh()
	require.Zero(t, waits(k, f.View()), "those that are kept wait already")
	require.Len(t, k.chain(), n/2+1)
}

// A view is immutable: later refreshes leave it alone.
func TestViewIsImmutable(t *testing.T) {
	f := start(t, gc.Config[*key, uint64]{Interval: time.Hour})
	var readers []reader
	for range 8 {
		readers = append(readers, f.begin())
		f.slots.Next()
	}
	f.Refresh()
	v := f.View()
	bound, live := v.Bound, slices.Clone(v.Live)
	require.Len(t, live, 8)
	for _, r := range readers {
		r.end()
		f.begin()
		f.slots.Next()
		f.Refresh()
		require.NotSame(t, v, f.View())
	}
	require.Equal(t, bound, v.Bound)
	require.Equal(t, live, v.Live)
}

// Refreshes from many goroutines keep the bound monotone, for each that looks at
// the views, and every view a true one.
func TestRefreshConcurrently(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 500
	}
	f := start(t, gc.Config[*key, uint64]{Interval: time.Millisecond / 2})
	pinned := f.begin()
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			last := uint64(0)
			for range rounds {
				f.slots.Next()
				r := f.begin()
				f.Refresh()
				v := f.View()
				if v.Bound < last {
					t.Errorf("bound %d after %d", v.Bound, last)
				}
				last = v.Bound
				if v.Bound > pinned.at && v.Min() != pinned.at {
					t.Errorf("view %v misses the reader at %d", v, pinned.at)
				}
				if _, listed := slices.BinarySearch(v.Live, r.at); v.Bound > r.at && !listed {
					t.Errorf("view %v misses the reader at %d", v, r.at)
				}
				r.end()
				f.slots.Abandon(r.slot)
			}
		})
	}
	wg.Wait()
}

// A committer's request makes a view only if the present one is old enough.
func TestRefreshPastRate(t *testing.T) {
	f := start(t, gc.Config[*key, uint64]{Interval: time.Hour})
	const stride = 16
	request := func(want uint64) {
		t.Helper()
		v := f.RefreshPast(f.slots.Now(), stride)
		require.Same(t, f.View(), v)
		require.Equal(t, want, v.Bound)
	}
	refreshed := func() uint64 { return f.Stats().CommitRefreshes.N }

	bound := uint64(epoch.First)
	for i := range 5 * stride {
		if f.slots.Next() == bound+stride {
			bound += stride
		}
		request(bound)
		require.Equal(t, uint64((i+1)/stride), refreshed())
	}

	// With many slots a view costs more, so it is made less often: no more than
	// one slot is looked at for each epoch drawn, times 64.
	for range 64 * 100 {
		f.slots.Acquire()
	}
	wide := uint64(f.slots.Cap() / 64)
	require.Greater(t, wide, uint64(stride))
	made := refreshed()
	for range wide - 1 {
		f.slots.Next()
		request(bound)
	}
	require.Equal(t, made, refreshed())
	f.slots.Next()
	request(bound + wide)
	require.Equal(t, made+1, refreshed())
}

// waits prunes k with v, and returns how many versions are new to be kept.
func waits(k *key, v *gc.View) int {
	var visit gc.Visit[uint64]
	k.interval(v, &visit)
	return len(visit.Waits)
}
