package epoch_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
)

// A transaction is promoted when it is found live for the third time. It stays in
// every view until it ends, and its slot is not used again.
func TestPromotion(t *testing.T) {
	s := epoch.NewSlots()
	old, at := begin(s, 0)
	s.Next()
	check := func(pins int, looked int, want ...epoch.Epoch) {
		t.Helper()
		var v epoch.View
		n, _ := s.Look(&v, s.Announce(), nil)
		require.ElementsMatch(t, want, v.Live())
		require.Equal(t, looked, n, "groups and slots that a scan looks at")
		require.Equal(t, pins, s.Pins())
	}
	rounds(s, 2)
	check(0, 2, at)
	rounds(s, 1)
	check(1, 1, at)
	young, later := begin(s, 0)
	s.Next()
	check(1, 2, at, later)
	rounds(s, 1)
	endTransaction(t, young, true)
	require.Equal(t, later+1, s.Begin(young, 0))
	s.Next()
	rounds(s, 2)
	check(1, 2, at, later+1) // the slot is that of another one: not promoted yet
	endTransaction(t, old, false)
	check(1, 2, at, later+1) // until the next round
	rounds(s, 1)
	check(1, 1, later+1)
	require.Equal(t, 1, s.Owned())
	endTransaction(t, young, false)
	rounds(s, 1)
	check(0, 0)
	require.Zero(t, s.Owned())
}

// A view says of two lists the same as it would of one.
func TestViewOfOldAndYoung(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		s := epoch.NewSlots()
		want := map[epoch.Epoch]bool{}
		writers := ^epoch.Epoch(0)
		var slots []*epoch.Slot
		for range 3 {
			for range r.IntN(5) {
				writer := uint64(r.IntN(2) * epoch.MayWrite)
				slot, at := begin(s, writer)
				slots = append(slots, slot)
				want[at] = true
				if writer != 0 {
					writers = min(writers, at)
				}
				for range r.IntN(3) {
					s.Next()
				}
			}
			rounds(s, r.IntN(3))
		}
		s.Next()
		m := s.Announce()
		var v epoch.View
		s.Look(&v, m, nil)
		var live []epoch.Epoch
		for e := range want {
			live = append(live, e)
		}
		slices.Sort(live)
		require.Equal(t, live, append([]epoch.Epoch(nil), v.Live()...))
		require.Equal(t, min(writers, m), v.Writers)
		if len(live) > 0 {
			require.Equal(t, live[0], v.Min)
		} else {
			require.Equal(t, m, v.Min)
		}
		for e := range m + 2 {
			i, _ := slices.BinarySearch(live, e)
			below, old := v.Below(e)
			if i == 0 {
				require.Zero(t, below)
				continue
			}
			require.Equal(t, live[i-1], below)
			require.Equal(t, slices.Contains(v.Old(), below), old)
		}
		for _, slot := range slots {
			slot.End(slot.Gen())
		}
	}
}

// An evicted transaction is not live, and is ended once more by its owner, once. Its
// age decides, and not whether it was promoted.
func TestEvict(t *testing.T) {
	for _, promoted := range []bool{false, true} {
		s := epoch.NewSlots()
		slot, _ := begin(s, 0)
		gen := slot.Gen()
		s.Next()
		var told []epoch.Pin
		round := func(now time.Duration) {
			s.Round(now, epoch.Limits{Evict: 100, Evicted: func(p epoch.Pin) { told = append(told, p) }})
		}
		round(10)
		if promoted {
			round(20)
			round(30)
		}
		require.Equal(t, []epoch.Epoch{epoch.First}, liveEpochs(s, s.Announce()))
		round(109)
		require.Empty(t, told)
		require.False(t, slot.Evicted(gen))
		round(110)
		require.Len(t, told, 1)
		require.Equal(t, epoch.First, told[0].Epoch)
		require.Equal(t, time.Duration(10), told[0].Since)
		require.True(t, slot.Evicted(gen))
		require.False(t, slot.Evicted(gen+1))
		require.NotEqual(t, gen, slot.Gen())
		require.Empty(t, liveEpochs(s, s.Announce()))
		open, ended, _ := s.Census()
		require.Zero(t, open)
		require.EqualValues(t, 1, ended)
		round(1000)
		require.Len(t, told, 1)

		require.False(t, slot.End(gen+1))
		require.True(t, slot.WasEvicted(gen))
		end1 := slot.End(gen)
		require.True(t, end1)
		require.Equal(t, !promoted, slot.Keep(gen))
		require.False(t, slot.End(gen))
		require.False(t, slot.Evicted(gen))
		require.True(t, slot.WasEvicted(gen))
		round(1001)
		if promoted {
			require.Zero(t, s.Owned())
			continue
		}
		s.Begin(slot, 0)
		s.Next()
		require.Equal(t, gen+1, slot.Gen())
		round(1002)
		require.Len(t, told, 1)
		endTransaction(t, slot, true)
	}
}

// Owner and evictor end a transaction at the same moment: one of the owner's calls
// owns it afterwards.
func TestEvictAgainstEnd(t *testing.T) {
	s := epoch.NewSlots()
	slot := s.Acquire()
	for i := range 2000 {
		s.Begin(slot, 0)
		s.Next()
		gen := slot.Gen()
		now := time.Duration(10 * i)
		s.Round(now, epoch.Limits{})
		var ended atomic.Int32
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if slot.End(gen) {
					ended.Add(1)
				}
			})
		}
		wg.Go(func() { s.Round(now+5, epoch.Limits{Evict: 1}) })
		wg.Wait()
		if slot.Evicted(gen) { // both came too early
			require.True(t, slot.End(gen))
			ended.Add(1)
		}
		require.EqualValues(t, 1, ended.Load())
		require.Equal(t, gen+1, slot.Gen())
		require.True(t, slot.Keep(gen))
	}
}

// One that is spared is not evicted, promoted or not, nor warned of, beside one that is.
func TestSpared(t *testing.T) {
	s := epoch.NewSlots()
	spared, at := begin(s, epoch.Spared|epoch.MayWrite)
	s.Next()
	past := s.Acquire()
	require.True(t, s.BeginAt(past, at, epoch.Spared))
	other, _ := begin(s, epoch.MayWrite)
	var evicted, warned []epoch.Pin
	limits := epoch.Limits{
		Evict: 100, Evicted: func(p epoch.Pin) { evicted = append(evicted, p) },
		Warn: 2500, Warned: func(p epoch.Pin) { warned = append(warned, p) },
	}
	for _, now := range []time.Duration{10, 1000, 2000, 3000, 4000} {
		s.Round(now, limits)
	}
	require.Len(t, evicted, 1)
	require.Empty(t, warned)
	require.True(t, other.Evicted(other.Gen()&^(1<<63)-1))
	require.Equal(t, []epoch.Epoch{at}, liveEpochs(s, s.Announce()))

	another, _ := begin(s, 0)
	limits.Evict = 0
	for now := range time.Duration(5) {
		s.Round(5000+1000*now, limits)
	}
	require.Len(t, warned, 1)
	endTransaction(t, another, false)
	endTransaction(t, spared, false)
	endTransaction(t, past, false)
}
