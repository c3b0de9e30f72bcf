package gc_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
)

// An idle reclaimer does nothing, for hours.
func TestIdleParks(t *testing.T) {
	for _, workers := range []int{0, 1, 3} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, gc.Config[*key, uint64]{Workers: workers})
			f.ticks(1)
			require.True(t, f.Parked())
			require.Equal(t, uint64(1), f.Stats().Parks)
			made := f.refreshes()
			require.LessOrEqual(t, made, uint64(1))
			time.Sleep(5 * time.Hour)
			require.Equal(t, made, f.refreshes())
			require.Equal(t, uint64(1), f.Stats().Parks)
		})
	}
}

// The next key handed over wakes it, and then it parks again.
func TestOfferWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, gc.Config[*key, uint64]{Workers: 1, Interval: time.Minute})
		f.ticks(1)
		for round := range 3 {
			require.True(t, f.Parked())
			made := f.refreshes()
			k := &key{}
			f.commit(k)
			f.write(k)
			synctest.Wait()
			require.False(t, f.Parked())
			f.ticks(1)
			require.Equal(t, 1, k.pruned())
			require.Len(t, k.chain(), 1)
			f.ticks(2)
			require.True(t, f.Parked())
			require.LessOrEqual(t, f.refreshes()-made, uint64(3))
			made = f.refreshes()
			time.Sleep(5 * time.Hour)
			require.Equal(t, made, f.refreshes(), "round %d", round)
		}
	})
}

// So does a key that a committer has to set aside.
func TestAsideWakes(t *testing.T) {
	for _, workers := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, gc.Config[*key, uint64]{Workers: workers})
			f.ticks(1)
			require.True(t, f.Parked())
			k := &key{}
			f.commit(k)
			r := f.begin()
			f.commit(k)
			f.Prune(k)
			synctest.Wait()
			require.False(t, f.Parked())
			f.ticks(5)
			require.False(t, f.Parked(), "a key is set aside")
			require.Len(t, k.chain(), 2)
			r.end()
			f.ticks(2)
			require.Len(t, k.chain(), 1)
			require.True(t, f.Parked())
		})
	}
}

// While a transaction is live the ticker ticks, at the interval, so that the
// oldest pin is known, and a new view is at hand.
func TestTicksWhileLive(t *testing.T) {
	for _, interval := range []time.Duration{0, time.Second, 7 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, gc.Config[*key, uint64]{Workers: 1, Interval: interval})
			r := f.begin()
			f.ticks(1)
			require.Equal(t, uint64(1), f.refreshes())
			f.ticks(10)
			require.Equal(t, uint64(11), f.refreshes())
			require.False(t, f.Parked())
			now := f.slots.Next()
			f.ticks(1)
			require.Equal(t, &gc.View{Bound: now, Live: []uint64{r.at}}, f.View())
			r.end()
			f.ticks(3)
			require.True(t, f.Parked())
			require.Equal(t, now, f.View().Min())
			made := f.refreshes()
			require.Equal(t, uint64(13), made)
			f.ticks(100)
			require.Equal(t, made, f.refreshes())
		})
	}
	require.Equal(t, 100*time.Millisecond, gc.DefaultInterval)
}

func TestOldestPin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, gc.Config[*key, uint64]{Workers: 1, Interval: time.Second})
		pin := func(at uint64, age time.Duration) {
			t.Helper()
			s := f.Stats()
			require.Equal(t, at, s.OldestPin)
			require.InDelta(t, age, s.OldestPinAge, float64(time.Microsecond))
		}
		pin(0, 0)
		old := f.begin()
		pin(0, 0) // no tick has seen it
		f.ticks(1)
		pin(old.at, 0)
		f.slots.Next()
		young := f.begin()
		f.ticks(10)
		pin(old.at, 10*time.Second)
		time.Sleep(time.Second / 2) // between ticks too
		pin(old.at, 10*time.Second+time.Second/2)
		old.end()
		f.ticks(1)
		pin(young.at, 10*time.Second+time.Second/2) // seen since the tick after it began
		young.end()
		f.ticks(1)
		pin(0, 0)

		// A reader that begins while the ticker is parked ages from the first
		// tick that sees it.
		require.True(t, f.Parked())
		r := f.begin()
		time.Sleep(time.Hour)
		pin(0, 0)
		f.write(&key{})
		f.ticks(1)
		pin(r.at, 0)
		require.Equal(t, uint64(epoch.First+1), r.at)
		f.ticks(5)
		pin(r.at, 5*time.Second)
		r.end()
	})
}
