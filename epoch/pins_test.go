package epoch_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
)

// oldest returns the oldest read epoch, and since when it has been seen.
func oldest(s *epoch.Slots, now time.Duration) (e uint64, since time.Duration, ok bool) {
	for p := range s.Pins(now) {
		if !ok || p.Epoch < e || p.Epoch == e && p.Since < since {
			e, since, ok = p.Epoch, p.Since, true
		}
	}
	return e, since, ok
}

func TestOldest(t *testing.T) {
	s := epoch.NewSlots()
	a, b := s.Acquire(), s.Acquire()
	check := func(now time.Duration, wantEpoch uint64, wantSince time.Duration) {
		t.Helper()
		e, since, ok := oldest(s, now)
		require.True(t, ok)
		require.Equal(t, wantEpoch, e)
		require.Equal(t, wantSince, since)
	}
	none := func(now time.Duration) {
		t.Helper()
		_, _, ok := oldest(s, now)
		require.False(t, ok)
	}

	none(1)
	s.Begin(b) // at 1
	check(10, 1, 10)
	check(20, 1, 10)
	s.Next()
	s.Begin(a) // at 2
	check(30, 1, 10)
	require.True(t, b.End(b.Gen()))
	check(40, 2, 30) // a was seen first at 30, though it was not the oldest then
	s.Next()
	s.Begin(b) // at 3
	check(50, 2, 30)

	// The slot of a serves another transaction: its age starts anew, also
	// when nobody looked in between.
	require.True(t, a.End(a.Gen()))
	s.Begin(a) // at 3
	require.True(t, b.End(b.Gen()))
	check(60, 3, 60)
	require.True(t, a.End(a.Gen()))
	none(70)
}

// The age is that of the epoch: a reader that comes later and reads at the same
// epoch, from whichever slot, does not make it younger.
func TestOldestSharedEpoch(t *testing.T) {
	for _, first := range []int{0, 1} {
		s := epoch.NewSlots()
		slots := []*epoch.Slot{s.Acquire(), s.Acquire()}
		s.Begin(slots[first])
		_, _, ok := oldest(s, 10)
		require.True(t, ok)
		s.Begin(slots[1-first])
		e, since, ok := oldest(s, 20)
		require.True(t, ok)
		require.Equal(t, uint64(epoch.First), e)
		require.Equal(t, time.Duration(10), since, "the reader in slot %d has been seen since 10", first)
	}
}

// An evicted transaction is not live, and is ended once more by its owner, once.
func TestEvict(t *testing.T) {
	s := epoch.NewSlots()
	slot := s.Acquire()
	s.Begin(slot)
	gen := slot.Gen()
	pins := func() (list []epoch.Pin) {
		for p := range s.Pins(1) {
			list = append(list, p)
		}
		return list
	}
	pin := pins()[0]
	require.False(t, slot.Evicted(gen))
	s.Next()
	require.Equal(t, []uint64{epoch.First}, s.Live(s.Announce(), nil))
	require.True(t, pin.Evict())
	require.False(t, pin.Evict())
	require.True(t, slot.Evicted(gen))
	require.False(t, slot.Evicted(gen+1))
	require.NotEqual(t, gen, slot.Gen())
	require.Empty(t, s.Live(s.Announce(), nil))
	require.Empty(t, pins())
	live, ended, _ := s.Census()
	require.Zero(t, live)
	require.EqualValues(t, 1, ended)

	require.False(t, slot.End(gen+1))
	require.True(t, slot.End(gen))
	require.False(t, slot.End(gen))
	require.False(t, slot.Evicted(gen))
	s.Begin(slot)
	require.Equal(t, gen+1, slot.Gen())
	require.False(t, pin.Evict(), "the transaction that it is about has ended")
	require.True(t, slot.End(gen+1))

	// One that its owner ends first is not evicted.
	s.Begin(slot)
	pin = pins()[0]
	require.True(t, slot.End(gen+2))
	require.False(t, pin.Evict())
	require.False(t, slot.Evicted(gen+2))

	// The slot of an owner that never comes back is used again.
	s.Begin(slot)
	require.True(t, pins()[0].Evict())
	require.False(t, s.Abandon(slot), "evicted, so no longer leaked")
	require.Same(t, slot, s.Acquire())
	s.Begin(slot)
	require.Equal(t, gen+4, slot.Gen())
	require.Len(t, pins(), 1)
}

// Owner and evictor end a transaction at the same moment: one of the owner's calls
// owns it afterwards.
func TestEvictAgainstEnd(t *testing.T) {
	s := epoch.NewSlots()
	slot := s.Acquire()
	for range 2000 {
		s.Begin(slot)
		gen := slot.Gen()
		var pin epoch.Pin
		for pin = range s.Pins(1) {
		}
		var ended atomic.Int32
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if slot.End(gen) {
					ended.Add(1)
				}
			})
		}
		wg.Go(func() { pin.Evict() })
		wg.Wait()
		if slot.Evicted(gen) { // both came too early
			require.True(t, slot.End(gen))
			ended.Add(1)
		}
		require.EqualValues(t, 1, ended.Load())
		require.Equal(t, gen+1, slot.Gen())
	}
}

// Of several calls that end an evicted transaction one does: callers collide very
// often here, each round with the same generation.
func TestCollectOnce(t *testing.T) {
	const collisions, most = 1000, 1_000_000
	const evicted = 1 << 63
	s := epoch.NewSlots()
	slot := s.Acquire()
	evict := func() {
		s.Begin(slot)
		for p := range s.Pins(1) {
			p.Evict()
		}
	}
	evict()
	first := slot.Gen()
	var wins, losses, calls atomic.Uint64
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for losses.Load() < collisions && calls.Load() < most {
				won, lost := uint64(0), uint64(0)
				for range 1000 {
					gen := slot.Gen()
					switch {
					case gen&evicted == 0: // about to be evicted
					case slot.End(gen&^evicted - 1):
						won++
						evict()
					default:
						lost++
					}
				}
				wins.Add(won)
				losses.Add(lost)
				calls.Add(1000)
			}
		})
	}
	wg.Wait()
	require.Equal(t, slot.Gen()-first, wins.Load(), "%d calls, %d came too late", calls.Load(), losses.Load())
}

// A pin is warned of once, and knows where it began.
func TestPinNotes(t *testing.T) {
	s := epoch.NewSlots()
	slot := s.Acquire()
	pin := func() (p epoch.Pin) {
		for p = range s.Pins(1) {
		}
		return p
	}
	for range 2 {
		s.Begin(slot)
		require.True(t, pin().Warn())
		require.False(t, pin().Warn())
		require.Empty(t, pin().Began(), "not traced, or of a transaction before")
		slot.Trace(slot.Gen(), 0)
		require.Contains(t, pin().Began()[0].Function, "TestPinNotes")
		require.True(t, slot.End(slot.Gen()))
	}
}
