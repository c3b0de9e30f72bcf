//go:build mvcchooks

package gc_test

import (
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/hooks"
)

// A live read epoch is in the view or at least its bound, for every place in a
// refresh at which a transaction may load the clock and at which it may publish.
func TestBeginDuringRefresh(t *testing.T) {
	points := []hooks.Point{hooks.BoundLoaded, hooks.BoundStored, hooks.SlotsScanned}
	for _, load := range append([]hooks.Point{hooks.Points}, points...) { // Points: before the refresh
		for _, publish := range append(points, hooks.Points) { // Points: after it
			if load != hooks.Points && publish < load {
				continue
			}
			t.Run(load.String()+"-"+publish.String(), func(t *testing.T) {
				f := start(t, gc.Config[*key, uint64]{Interval: time.Hour})
				var yield func(hooks.Point) bool // the beginner's, while it runs
				resume := func(next func() (hooks.Point, bool), set func(hooks.Point) bool) (hooks.Point, bool) {
					yield = set
					defer func() { yield = nil }()
					return next()
				}
				var r reader
				var y func(hooks.Point) bool
				next, stop := iter.Pull(func(set func(hooks.Point) bool) {
					y, yield = set, set
					r = f.begin()
				})
				defer stop()
				loaded := func() {
					p, _ := resume(next, y)
					require.Equal(t, hooks.BeginLoaded, p)
					f.slots.Next() // a commit, right after the load
				}
				// The beginner stores its epoch, checks, and may go round.
				published := func() {
					for more := true; more; {
						_, more = resume(next, y)
					}
				}
				defer hooks.Set(func(p hooks.Point) {
					if yield != nil {
						yield(p)
						return
					}
					if p == load {
						loaded()
					}
					if p == publish {
						published()
					}
				})()
				if load == hooks.Points {
					loaded()
				}
				f.Refresh()
				if publish == hooks.Points {
					published()
				}
				v := f.View()
				_, listed := slices.BinarySearch(v.Live, r.at)
				require.True(t, listed || r.at >= v.Bound, "reader at %d, view %v", r.at, v)
			})
		}
	}
}

// A refresh that finds another one under way does not wait for it, and so does
// not overtake it either: bounds ascend.
func TestRefreshIsAlone(t *testing.T) {
	for _, at := range []hooks.Point{hooks.BoundLoaded, hooks.BoundStored, hooks.SlotsScanned} {
		t.Run(at.String(), func(t *testing.T) {
			f := start(t, gc.Config[*key, uint64]{Interval: time.Hour})
			f.slots.Next()
			before := f.View()
			depth := 0
			defer hooks.Set(func(p hooks.Point) {
				depth++
				defer func() { depth-- }()
				if p != at {
					return
				}
				require.Equal(t, 1, depth, "a refresh within a refresh")
				f.slots.Next()
				f.Refresh()
				require.Same(t, before, f.View())
				require.Same(t, before, f.RefreshPast(f.slots.Now(), 1))
				require.LessOrEqual(t, f.slots.Bound(), f.slots.Now()-1)
			})()
			f.Refresh()
			require.Equal(t, f.slots.Now()-1, f.View().Bound)
			require.Equal(t, f.View().Bound, f.slots.Bound())
		})
	}
}

// duringTick makes a reclaimer and calls f at point p of its first tick.
func duringTick(t *testing.T, cfg gc.Config[*key, uint64], p hooks.Point, f func(*fixture)) *fixture {
	fix := start(t, cfg)
	done := false
	t.Cleanup(hooks.Set(func(q hooks.Point) {
		if q == p && !done {
			done = true
			f(fix)
		}
	}))
	return fix
}

// A key offered after the ticker has said that it parks wakes it.
func TestOfferWhileParking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &key{}
		f := duringTick(t, gc.Config[*key, uint64]{Workers: 1}, hooks.Parking, func(f *fixture) {
			require.True(t, f.Parked())
			f.commit(k)
			f.write(k)
		})
		f.ticks(2)
		require.Len(t, k.chain(), 1)
		f.ticks(2)
		require.True(t, f.Parked())
	})
}

// A key offered between the ticker's look at the queue and its word that it parks
// wakes nobody: its committer found nobody parked. So the ticker looks again. The
// state is the same as if the wake-up had been lost.
func TestOfferBeforeParking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &key{}
		f := duringTick(t, gc.Config[*key, uint64]{Workers: 1}, hooks.Parking, func(f *fixture) {
			f.commit(k)
			f.write(k)
			require.True(t, f.Unpoke())
		})
		f.ticks(2)
		require.Equal(t, 1, k.pruned(), "parked with a key in the queue")
		require.Len(t, k.chain(), 1)
	})
}

// The same for a key that a committer sets aside.
func TestAsideBeforeParking(t *testing.T) {
	for _, workers := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			k := &key{}
			f := duringTick(t, gc.Config[*key, uint64]{Workers: workers}, hooks.Parking, func(f *fixture) {
				f.commit(k)
				r := f.begin()
				f.commit(k)
				f.Prune(k)
				require.Equal(t, 1, f.Stats().Aside)
				r.end()
				require.True(t, f.Unpoke())
			})
			f.ticks(2)
			require.Len(t, k.chain(), 1, "parked with a key set aside")
		})
	}
}

// A key that is written and offered after a worker took it off the queue, and
// before it is pruned, is queued again.
func TestOfferAfterDequeue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &key{}
		f := duringTick(t, gc.Config[*key, uint64]{Workers: 1}, hooks.Dequeued, func(f *fixture) {
			require.False(t, k.mark.Queued())
			f.write(k)
			require.True(t, k.mark.Queued())
		})
		f.commit(k)
		f.write(k)
		f.ticks(1)
		require.True(t, k.mark.Queued())
		f.ticks(2)
		require.Len(t, k.chain(), 1)
		require.GreaterOrEqual(t, k.prunedAt(), k.chain()[0])
	})
}

// A committer that must prune while the ticker makes its view has only the view
// before that: its own version is above the bound. It is not forgotten, although
// no epoch ends.
func TestPruneDuringRefresh(t *testing.T) {
	for _, at := range []hooks.Point{hooks.BoundLoaded, hooks.SlotsScanned} {
		for _, workers := range []int{0, 1} {
			t.Run(at.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					k := &key{}
					f := duringTick(t, gc.Config[*key, uint64]{Workers: workers}, at, func(f *fixture) {
						f.commit(k)
						f.commit(k)
						f.Prune(k)
					})
					f.ticks(5)
					require.Len(t, k.chain(), 1, "%d set aside, and no epoch will end", f.Stats().Aside)
					require.Zero(t, f.Stats().Aside)
					require.True(t, f.Parked())
				})
			})
		}
	}
}

// The stress tests with every goroutine losing its processor at the points that
// matter.
func TestNothingIsLostYielding(t *testing.T) {
	var n atomic.Uint64
	defer hooks.Set(func(hooks.Point) {
		n.Add(1)
		if rand.Uint32()&3 == 0 {
			runtime.Gosched()
		}
	})()
	TestNothingIsLost(t)
	require.NotZero(t, n.Load())
}
