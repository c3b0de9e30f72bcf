//go:build mvcccheck

package gc_test

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// A refresh that finds another one under way does not wait for it, and so does
// not overtake it either: bounds ascend.
func TestRefreshIsAlone(t *testing.T) {
	for _, at := range []hooks.Point{hooks.BoundLoaded, hooks.BoundStored, hooks.SlotsScanned} {
		t.Run(at.String(), func(t *testing.T) {
			f := start(t, config{Interval: time.Hour})
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

// A refresh has scanned the slots when a committer, which has waited long enough for
// it, makes a newer view beside it.
func TestOlderViewDoesNotReplaceNewer(t *testing.T) {
	f := start(t, config{Interval: time.Hour})
	var newer *gc.View
	var nested atomic.Bool
	defer hooks.Set(func(p hooks.Point) {
		if p != hooks.SlotsScanned || !nested.CompareAndSwap(false, true) {
			return
		}
		for range 100 {
			f.slots.Next()
		}
		newer = f.RefreshPast(f.slots.Now(), 1)
	})()
	f.Refresh()
	require.True(t, nested.Load())
	require.Equal(t, f.slots.Now(), newer.Bound)
	require.Same(t, newer, f.View())
}

// duringTick makes a reclaimer, starts it, and calls g once at point p of a tick.
func duringTick(t *testing.T, cfg config, p hooks.Point, g func(*fixture)) *fixture {
	f := start(t, cfg)
	done := false
	t.Cleanup(hooks.Set(func(q hooks.Point) {
		if q == p && !done {
			done = true
			g(f)
		}
	}))
	f.Wake()
	return f
}

// A key that is handed over after the ticker goroutine has said that it rests starts
// another one; one that is handed over before, by a committer that found it running,
// is seen by it.
func TestOfferWhileGoingToRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &key{}
		f := duringTick(t, config{Workers: 1}, hooks.Parking, func(f *fixture) {
			require.True(t, f.Resting())
			f.commit(k)
			f.write(k)
			require.False(t, f.Resting())
		})
		f.ticks(3)
		require.Len(t, k.chain(), 1)
		f.ticks(2)
		require.True(t, f.Resting())
	})
	synctest.Test(t, func(t *testing.T) {
		k := &key{}
		f := duringTick(t, config{Workers: 1}, hooks.Parking, func(f *fixture) {
			// As if it had been put there a moment ago, and its committer had not
			// found the reclaimer resting yet.
			f.commit(k)
			f.commit(k)
			k.mark()
			f.Strand(k.item(0))
			require.True(t, f.Resting())
		})
		f.ticks(3)
		require.Len(t, k.chain(), 1, "resting with a key in the queue")
	})
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

// Wake by a goroutine beside the ticker is not lost, though the one that started it still holds the
// lock.
func TestWakeBesideGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, config{Workers: 1})
		ticks := f.made()
		woken := make(chan bool)
		t.Cleanup(hooks.Set(func(p hooks.Point) {
			if p == hooks.Spawned {
				<-woken
			}
		}))
		require.True(t, f.Go(func() { f.Wake(); close(woken) }))
		f.ticks(2)
		require.Greater(t, f.made(), ticks)
	})
}
