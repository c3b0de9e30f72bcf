package epoch_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
)

func TestOldest(t *testing.T) {
	s := epoch.NewSlots()
	a, b := s.Acquire(), s.Acquire()
	check := func(now time.Duration, wantEpoch epoch.Epoch, wantSince time.Duration) {
		t.Helper()
		pin, ok := s.Round(now, epoch.Limits{})
		require.True(t, ok)
		require.Equal(t, wantEpoch, pin.Epoch)
		require.Equal(t, wantSince, pin.Since)
	}
	none := func(now time.Duration) {
		t.Helper()
		_, ok := s.Round(now, epoch.Limits{})
		require.False(t, ok)
	}

	none(1)
	s.Begin(b, 0) // at 1
	check(10, 1, 10)
	s.Next()
	check(20, 1, 10)
	s.Begin(a, 0) // at 2
	s.Next()
	check(30, 1, 10)
	end(t, b, false)
	b = s.Acquire()
	check(40, 2, 30)
	s.Begin(b, 0) // at 3
	s.Next()
	check(50, 2, 30) // a was seen first at 30, though it was not the oldest then

	// Its age starts anew for another transaction.
	end(t, a, false)
	check(60, 3, 50)
	end(t, b, true)
	none(70)
}

// The age is that of the epoch: a reader that comes later and reads at the same
// epoch, from whichever slot, does not make it younger.
func TestOldestSharedEpoch(t *testing.T) {
	for _, first := range []int{0, 1} {
		s := epoch.NewSlots()
		slots := []*epoch.Slot{s.Acquire(), s.Acquire()}
		s.Begin(slots[first], 0)
		s.Begin(slots[1-first], 0)
		s.Next()
		gen := slots[1-first].Gen()
		require.True(t, slots[1-first].End(gen))
		s.Round(10, epoch.Limits{})
		slots[1-first] = nil
		pin, ok := s.Round(20, epoch.Limits{})
		require.True(t, ok)
		require.Equal(t, epoch.First, pin.Epoch)
		require.Equal(t, time.Duration(10), pin.Since, "the reader in slot %d has been seen since 10",
			first)
	}
}

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
	end(t, young, true)
	require.Equal(t, later+1, s.Begin(young, 0))
	s.Next()
	rounds(s, 2)
	check(1, 2, at, later+1) // the slot is that of another one: not promoted yet
	end(t, old, false)
	check(1, 2, at, later+1) // until the next round
	rounds(s, 1)
	check(1, 1, later+1)
	require.Equal(t, 1, s.Owned())
	end(t, young, false)
	rounds(s, 1)
	check(0, 0)
	require.Zero(t, s.Owned())
}

// What a view says of two lists is what it would say of one.
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

// Very many transactions that are open for long are no work for a scan, and leave
// nothing behind.
func TestManyPins(t *testing.T) {
	const n = 20_000
	s := epoch.NewSlots()
	var slots []*epoch.Slot
	for range n {
		slot, _ := begin(s, 0)
		slots = append(slots, slot)
		s.Next()
	}
	rounds(s, 3)
	var v epoch.View
	looked, _ := s.Look(&v, s.Announce(), nil)
	require.Equal(t, s.Groups(), looked)
	require.Equal(t, n, v.Len())
	rand.Shuffle(n, func(i, j int) { slots[i], slots[j] = slots[j], slots[i] })
	for i, slot := range slots {
		end(t, slot, false)
		if i%(n/10) == 0 {
			rounds(s, 1)
			s.Look(&v, s.Announce(), nil)
			require.Equal(t, n-i-1, v.Len())
			require.Equal(t, n-i-1, s.Owned())
			require.LessOrEqual(t, s.Pins(), max(2*(n-i-1), 2))
		}
	}
	rounds(s, 1)
	require.Zero(t, s.Pins())
	require.Zero(t, s.Owned())
	require.Zero(t, s.Groups())
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
		require.Equal(t, []epoch.Epoch{epoch.First}, live(s, s.Announce()))
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
		require.Empty(t, live(s, s.Announce()))
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
		end(t, slot, true)
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

// Of several calls that end an evicted transaction one does: callers collide very
// often here, each round with the same generation.
func TestCollectOnce(t *testing.T) {
	const evicted = 1 << 63
	s := epoch.NewSlots()
	slot := s.Acquire()
	evict := func() {
		s.Begin(slot, 0)
		slot.EvictNow()
	}
	evict()
	collide(t, slot, 1_000_000, func() (won, lost bool) {
		gen := slot.Gen()
		switch {
		case gen&evicted == 0: // about to be evicted
			return false, false
		case slot.End(gen&^evicted - 1):
			evict()
			return true, false
		}
		return false, true
	})
}

// A transaction is warned of once, when it is promoted and old, and it is known where
// it began.
func TestWarned(t *testing.T) {
	s := epoch.NewSlots()
	var told []epoch.Pin
	round := func(now time.Duration) {
		s.Round(now, epoch.Limits{Warn: 100, Warned: func(p epoch.Pin) { told = append(told, p) }})
	}
	a, _ := begin(s, 0)
	a.Trace(a.Gen(), 0)
	s.Next()
	round(0)
	b, _ := begin(s, 0)
	s.Next()
	round(10)
	round(20)
	round(99)
	require.Empty(t, told)
	round(100)
	require.Len(t, told, 1)
	require.Contains(t, told[0].Began()[0].Function, "TestWarned")
	end(t, a, false)
	round(110)
	require.Len(t, told, 2)
	require.Equal(t, epoch.Epoch(2), told[1].Epoch)
	require.Empty(t, told[1].Began())
	round(1000)
	require.Len(t, told, 2)
	end(t, b, false)
	round(1001)
	require.Len(t, told, 2)
}

// Live gives the transactions that are live, promoted or not, and no others.
func TestLivePins(t *testing.T) {
	s := epoch.NewSlots()
	reader, writer, over := s.Acquire(), s.Acquire(), s.Acquire()
	idle := s.Acquire()
	for range 2 {
		s.Begin(over, 0)
		end(t, over, true)
	}
	at := s.Begin(reader, 0)
	reader.Trace(reader.Gen(), 0)
	s.Next()
	s.Begin(writer, epoch.MayWrite)
	check := func(want ...bool) {
		t.Helper()
		var got []bool
		for p := range s.Live {
			got = append(got, p.MayWrite())
			if p.MayWrite() {
				require.Equal(t, at+1, p.Epoch)
				require.Empty(t, p.Began())
			} else {
				require.Equal(t, at, p.Epoch)
				require.Contains(t, p.Began()[0].Function, "TestLivePins")
			}
		}
		require.ElementsMatch(t, want, got)
	}
	check(false, true)
	for now := range 8 {
		s.Round(time.Duration(now), epoch.Limits{})
	}
	check(false, true)
	for range s.Live { // may be left
		break
	}
	for _, slot := range []*epoch.Slot{over, idle} {
		_, live := slot.Pin()
		require.False(t, live)
	}
	end(t, reader, false)
	check(true)
	s.Round(100, epoch.Limits{Evict: 1})
	check()
	runtime.KeepAlive(writer)
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
	require.Equal(t, []epoch.Epoch{at}, live(s, s.Announce()))

	another, _ := begin(s, 0)
	limits.Evict = 0
	for now := range time.Duration(5) {
		s.Round(5000+1000*now, limits)
	}
	require.Len(t, warned, 1)
	end(t, another, false)
	end(t, spared, false)
	end(t, past, false)
}
