package gc_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/gc"
)

// Of what is set aside only that becomes due whose epoch has ended: for all pairs of
// subsets of a small set, put in any order. Epochs at or above the bound of a view
// are not known to it.
func TestDue(t *testing.T) {
	subset := func(bits int) (s []uint64) {
		for i := range 5 {
			if bits>>i&1 == 1 {
				s = append(s, uint64(10+i))
			}
		}
		return s
	}
	for aside := range 32 {
		for live := range 32 {
			for bound := uint64(10); bound <= 15; bound++ {
				v := &gc.View{Bound: bound, Live: slices.DeleteFunc(subset(live), func(e uint64) bool { return e >= bound })}
				want := slices.DeleteFunc(subset(aside&^live), func(e uint64) bool { return e >= bound })
				put := subset(aside)
				for range 2 {
					got := gc.Released(put, gc.NewBare(), v)
					require.ElementsMatch(t, want, got, "%v aside, %v live below %d", put, v.Live, bound)
					slices.Reverse(put)
				}
			}
		}
	}
}

// A key that a live epoch keeps from being pruned down is set aside, once, and
// visited when that epoch has ended: not before, and not again after.
func TestBlockedIsSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, gc.Config[*key, uint64]{Workers: 1})
		k := &key{}
		first := f.commit(k)
		r := f.begin()
		second := f.write(k)
		f.ticks(1)
		require.Equal(t, []uint64{second, first}, k.chain())
		require.False(t, k.mark.Queued())
		require.Equal(t, 1, f.Stats().Aside)

		// Written again it is queued, pruned and still set aside once.
		f.write(k)
		third := f.write(k)
		f.ticks(1)
		require.Equal(t, []uint64{third, first}, k.chain())
		require.Equal(t, 2, k.pruned())
		require.Equal(t, 1, f.Stats().Aside)

		// Ticks alone are no reason to look, nor are readers that come, or go.
		f.ticks(10)
		f.begin().end()
		later := f.begin()
		f.slots.Next()
		f.ticks(10)
		later.end()
		f.ticks(10)
		require.Equal(t, 2, k.pruned())

		r.end()
		f.ticks(1)
		require.Equal(t, 3, k.pruned())
		require.Equal(t, []uint64{third}, k.chain())
		require.True(t, k.mark.Idle())
		require.Zero(t, f.Stats().Aside)
		f.ticks(10)
		require.Equal(t, 3, k.pruned())
	})
}

// Whichever of several live epochs ends, what it kept goes at the next tick.
func TestVisitWhenAnyEpochEnds(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}, {0, 2, 1}, {2, 0, 1}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, gc.Config[*key, uint64]{Workers: 1})
				k := &key{}
				readers := make([]reader, 3)
				for i := range readers {
					f.commit(k)
					readers[i] = f.begin()
				}
				f.write(k)
				f.ticks(1)
				require.Len(t, k.chain(), 4)
				require.Equal(t, 3, f.Stats().Aside)
				for n, i := range order {
					f.ticks(3)
					require.Equal(t, n+1, k.pruned())
					readers[i].end()
					f.ticks(1)
					require.Equal(t, n+2, k.pruned())
					require.NotContains(t, k.chain(), readers[i].at)
					require.Len(t, k.chain(), 3-n)
					require.Equal(t, 2-n, f.Stats().Aside)
				}
			})
		})
	}
}

// A second reader at the same epoch still needs the version.
func TestNoVisitWhileEpochIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, gc.Config[*key, uint64]{Workers: 1})
		k := &key{}
		f.commit(k)
		one, other := f.begin(), f.begin()
		f.write(k)
		f.ticks(1)
		one.end()
		f.ticks(5)
		require.Equal(t, 1, k.pruned())
		other.end()
		f.ticks(1)
		require.Equal(t, 2, k.pruned())
		require.Len(t, k.chain(), 1)
	})
}

// A committer prunes with a view of its own, which no tick has seen. The epoch
// that blocks it may end before any tick sees it live: the next tick looks
// nevertheless.
func TestVisitAfterCommittersView(t *testing.T) {
	for _, workers := range []int{0, 1} {
		t.Run(fmt.Sprint("workers=", workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, gc.Config[*key, uint64]{Workers: workers})
				defer f.begin().end() // keeps the ticker from parking
				f.slots.Next()        // else the first pass has yet to see it
				f.ticks(1)
				k := &key{}
				f.commit(k)
				r := f.begin()
				f.commit(k)
				f.Prune(k)
				require.Equal(t, 1, f.Stats().Aside)
				require.Len(t, k.chain(), 2)
				r.end()
				f.ticks(1)
				require.Equal(t, 2, k.pruned())
				require.Len(t, k.chain(), 1)
				require.Zero(t, f.Stats().Aside)
			})
		})
	}
}

// A committer sets a key aside for an epoch that is too young for the view of the pass
// under way. That pass leaves it, and the next one looks at it, although nothing else
// has changed.
func TestAsideYoungerThanThePass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &key{}
		var f *fixture
		var r reader
		var armed atomic.Bool
		// Trim is called when the view of a pass has been made.
		f = start(t, gc.Config[*key, uint64]{Workers: 1, Trim: func() bool {
			if armed.CompareAndSwap(true, false) {
				f.commit(k)
				r = f.begin()
				f.commit(k)
				f.Prune(k)
			}
			return false
		}})
		defer f.begin().end() // keeps the ticker from parking
		f.slots.Next()
		f.ticks(1)
		armed.Store(true)
		f.ticks(1)
		require.Equal(t, 1, f.Stats().Aside)
		require.Len(t, k.chain(), 2)
		r.end()
		f.ticks(1)
		require.Zero(t, f.Stats().Aside)
		require.Len(t, k.chain(), 1)
	})
}

// The same for a worker that had to make a view of its own, because the key
// could not be queued again.
func TestVisitAfterWorkersView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, gc.Config[*key, uint64]{Workers: 1, Queue: 1})
		defer f.begin().end()
		k, filler := &key{}, &key{}
		var r reader
		k.onPrune = func(v *gc.View, visit *gc.Visit[uint64]) {
			if k.pruned() == 1 {
				r = f.begin()
				f.commit(k)
				f.write(filler)
			}
			k.interval(v, visit)
		}
		f.commit(k)
		f.write(k)
		f.ticks(1)
		require.GreaterOrEqual(t, k.pruned(), 2)
		require.Len(t, k.chain(), 2, "the reader came after the tick's view")
		require.Equal(t, 1, f.Stats().Aside)
		r.end()
		f.ticks(1)
		require.Len(t, k.chain(), 1)
		require.Zero(t, f.Stats().Aside)
	})
}

// What is set aside again during a visit is not forgotten.
func TestBlockedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, gc.Config[*key, uint64]{Workers: 1})
		keys := make([]*key, 10)
		for i := range keys {
			keys[i] = &key{}
			f.commit(keys[i])
		}
		one := f.begin()
		for _, k := range keys {
			f.commit(k)
		}
		two := f.begin()
		for _, k := range keys {
			f.write(k)
		}
		f.ticks(1)
		require.Equal(t, 2*len(keys), f.Stats().Aside)
		one.end()
		f.ticks(1)
		require.Equal(t, len(keys), f.Stats().Aside)
		two.end()
		f.ticks(1)
		require.Zero(t, f.Stats().Aside)
		for _, k := range keys {
			require.Equal(t, 3, k.pruned())
			require.Len(t, k.chain(), 1)
		}
	})
}

// A worker may still be at a key when the ticker finds nothing more to do and
// parks. If the key then turns out to be blocked, by an epoch that has ended
// meanwhile, somebody has to look at it again.
func TestSetAsideWhileTheTickerParks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, gc.Config[*key, uint64]{Workers: 2, Interval: time.Second})
		entered := make(chan *key, 1) // the worker is at this key
		release := make(chan struct{})
		onPrune := func(k *key) func(v *gc.View, visit *gc.Visit[uint64]) {
			return func(v *gc.View, visit *gc.Visit[uint64]) {
				if isClosed(release) {
					k.interval(v, visit)
					return
				}
				if isTicker() {
					// Wait until the worker has the other key.
					select {
					case other := <-entered:
						entered <- other
					case <-time.After(time.Millisecond):
						visit.Left = true // the worker missed it, try again
					}
					return
				}
				k.interval(v, visit)
				entered <- k
				<-release
			}
		}
		keys := []*key{{name: "a"}, {name: "b"}}
		for _, k := range keys {
			k.onPrune = onPrune(k)
			f.commit(k)
		}
		r := f.begin()
		for _, k := range keys {
			f.write(k)
		}
		for len(entered) == 0 {
			f.ticks(1)
		}
		k := <-entered
		entered <- k
		r.end()
		f.ticks(10)
		require.True(t, f.Parked())
		require.Zero(t, f.Stats().Aside)
		require.Len(t, k.chain(), 2)
		close(release)
		f.ticks(10)
		require.Zero(t, f.Stats().Aside, "set aside, and nobody comes")
		require.Len(t, k.chain(), 1)
	})
}
