package epoch_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// A slot takes two cache lines, so that nobody else's writes disturb its owner.
func TestSlotSize(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 && !invariant.Enabled {
		require.EqualValues(t, 128, epoch.SlotSize)
	}
}

func TestClock(t *testing.T) {
	s := epoch.NewSlots()
	require.Equal(t, epoch.First, s.Now())
	require.Zero(t, s.Bound(), "no bound was announced")
	require.Equal(t, epoch.First+1, s.Next())
	require.Equal(t, epoch.First+1, s.Now())

	// Many goroutines draw: no epoch twice, none left out.
	const goroutines, draws = 8, 1000
	drawn := make([][]epoch.Epoch, goroutines)
	var wg sync.WaitGroup
	for i := range drawn {
		wg.Go(func() {
			for range draws {
				drawn[i] = append(drawn[i], s.Next())
			}
		})
	}
	wg.Wait()
	for _, d := range drawn {
		require.True(t, slices.IsSorted(d), "one goroutine's epochs ascend")
	}
	all := slices.Sorted(slices.Values(slices.Concat(drawn...)))
	for i, e := range all {
		require.Equal(t, epoch.First+2+epoch.Epoch(i), e)
	}
	require.Equal(t, all[len(all)-1], s.Now())
}

func TestBeginEnd(t *testing.T) {
	s := epoch.NewSlots()
	slot := s.Acquire()
	open, ended, _ := s.Census()
	require.Zero(t, open, "a fresh slot is not live")
	require.Zero(t, ended)

	// The slot is used again and again: generations name transactions.
	for i := range uint64(5) {
		gen := slot.Gen()
		at := s.Begin(slot, 0)
		require.Equal(t, s.Now(), at)
		require.Equal(t, at, slot.Epoch())
		require.Equal(t, gen, slot.Gen(), "Begin does not change the generation")
		s.Next()
		require.Equal(t, at, slot.Epoch(), "a later commit does not move the reader")
		open, ended, _ = s.Census()
		require.Equal(t, 1, open)
		require.Equal(t, i, ended)
		require.Equal(t, []epoch.Epoch{at}, live(s, s.Announce()))

		require.True(t, slot.End(gen))
		require.NotEqual(t, gen, slot.Gen(), "End moves the generation on")
		open, ended, _ = s.Census()
		require.Zero(t, open)
		require.Equal(t, i+1, ended)
		require.Empty(t, live(s, s.Announce()))
	}
}

// A handle that is closed late, when its slot serves another transaction, must
// not end that one.
func TestEndStale(t *testing.T) {
	s := epoch.NewSlots()
	slot := s.Acquire()
	var stale []epoch.Gen
	for range 4 {
		s.Begin(slot, 0)
		gen := slot.Gen()
		for _, old := range stale {
			require.False(t, slot.End(old))
		}
		require.False(t, slot.End(gen+1), "nor does a generation that is still to come")
		live, _, _ := s.Census()
		require.Equal(t, 1, live)
		require.True(t, slot.End(gen))
		require.False(t, slot.End(gen), "ended twice")
		stale = append(stale, gen)
	}
	_, ended, _ := s.Census()
	require.Equal(t, uint64(4), ended)
}

// The generation alone decides which call ended a transaction. Several goroutines end
// whatever they find, as fast as they can, until they have been in each other's
// way often enough: each generation is ended by exactly one of them.
func TestEndOnce(t *testing.T) {
	s := epoch.NewSlots()
	slot := s.Acquire()
	s.Begin(slot, 0)
	collide(t, slot, 20_000_000, func() (won, lost bool) {
		won = slot.End(slot.Gen())
		return won, !won
	})
}

// collide has several goroutines make calls that end what is in slot, until they have been in
// each other's way often enough, or have made so many calls: as many have won as generations
// have passed.
func collide(t *testing.T, slot *epoch.Slot, most uint64, call func() (won, lost bool)) {
	t.Helper()
	const collisions = 1000
	first := slot.Gen()
	var wins, losses, calls atomic.Uint64
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for losses.Load() < collisions && calls.Load() < most {
				var mine [2]uint64
				for range 1000 {
					switch won, lost := call(); {
					case won:
						mine[0]++
					case lost:
						mine[1]++
					}
				}
				wins.Add(mine[0])
				losses.Add(mine[1])
				calls.Add(1000)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, slot.Gen()-first, wins.Load(), "%d calls, %d came too late",
		calls.Load(), losses.Load())
}

func TestAnnounce(t *testing.T) {
	s := epoch.NewSlots()
	for range 3 {
		now := s.Next()
		require.Less(t, s.Bound(), now)
		require.Equal(t, now, s.Announce())
		require.Equal(t, now, s.Bound(),
			"the bound is stored when Announce returns, before any slot is scanned")
	}
	// Begin is not refused at the bound itself.
	require.Equal(t, s.Bound(), s.Begin(s.Acquire(), 0))
}

func TestLive(t *testing.T) {
	s := epoch.NewSlots()
	begin := func() *epoch.Slot {
		slot := s.Acquire()
		s.Begin(slot, 0)
		return slot
	}
	// Begun in an order that neither ascends with the slot nor is distinct.
	late := s.Acquire()
	one, oneToo := begin(), begin()
	s.Next()
	two := begin()
	s.Next()
	s.Next()
	four := begin()
	s.Begin(late, 0)
	idle := s.Acquire()

	check := func(m epoch.Epoch, want ...epoch.Epoch) {
		t.Helper()
		require.Empty(t, cmp.Diff(want, live(s, m)))
	}
	m := s.Announce()
	require.Equal(t, epoch.Epoch(4), m)
	check(m, 1, 2)
	s.Next()
	m = s.Announce()
	check(m, 1, 2, 4)

	require.True(t, one.End(one.Gen()))
	check(m, 1, 2, 4) // oneToo still reads at 1
	require.True(t, oneToo.End(oneToo.Gen()))
	check(m, 2, 4)
	require.True(t, four.End(four.Gen()))
	check(m, 2, 4) // late
	require.True(t, late.End(late.Gen()))
	check(m, 2)
	s.Begin(idle, 0)
	check(m, 2) // at the bound, not below
	require.True(t, two.End(two.Gen()))
	require.Empty(t, live(s, m))

	s.Next()
	require.Equal(t, []epoch.Epoch{m}, live(s, s.Announce()))
}

// A hundred thousand transactions are live at once, each with an epoch of its
// own: there is no last slot, and no epoch is left out of the list.
func TestAcquireWithoutLimit(t *testing.T) {
	const n = 100_000
	s := epoch.NewSlots()
	slots := make([]*epoch.Slot, n)
	want := make([]epoch.Epoch, n)
	seen := make(map[*epoch.Slot]bool, n)
	for i := range slots {
		slots[i] = s.Acquire()
		seen[slots[i]] = true
		want[i] = s.Begin(slots[i], 0)
		s.Next()
	}
	require.Len(t, seen, n, "a slot with two owners")
	require.Equal(t, n, s.Owned())
	require.Equal(t, (n+epoch.GroupSize-1)/epoch.GroupSize, s.Groups())
	require.Equal(t, want, live(s, s.Announce()))
	open, _, _ := s.Census()
	require.Equal(t, n, open)

	for i := range slots {
		slots[i].End(slots[i].Gen())
	}
	require.Empty(t, live(s, s.Announce()))
	_, ended, _ := s.Census()
	require.Equal(t, uint64(n), ended)

	// Nothing is left of them, but for the counts.
	for i := range slots {
		s.Release(slots[i])
	}
	require.Zero(t, s.Owned())
	require.Zero(t, s.Groups())
	_, ended, _ = s.Census()
	require.Equal(t, uint64(n), ended)
}

func TestAcquireConcurrently(t *testing.T) {
	const goroutines, each = 8, 3*epoch.GroupSize + 5
	s := epoch.NewSlots()
	owned := make([][]*epoch.Slot, goroutines)
	stop := make(chan struct{})
	var scanner, wg sync.WaitGroup
	scanner.Go(func() { // the directory grows under a scan
		for {
			select {
			case <-stop:
				return
			default:
				live(s, s.Announce())
				s.Next()
			}
		}
	})
	for i := range owned {
		wg.Go(func() {
			for range each {
				slot := s.Acquire()
				s.Begin(slot, 0)
				owned[i] = append(owned[i], slot)
			}
		})
	}
	wg.Wait()
	close(stop)
	scanner.Wait()
	distinct := map[*epoch.Slot]bool{}
	for _, slot := range slices.Concat(owned...) {
		distinct[slot] = true
	}
	require.Len(t, distinct, goroutines*each)
	live, _, _ := s.Census()
	require.Equal(t, goroutines*each, live)
}

func TestAbandon(t *testing.T) {
	s := epoch.NewSlots()
	leaked, idle, never, evicted := s.Acquire(), s.Acquire(), s.Acquire(), s.Acquire()
	s.Begin(evicted, 0)
	s.Next()
	s.Round(0, epoch.Limits{})
	s.Round(time.Hour, epoch.Limits{Evict: time.Second})
	s.Begin(leaked, 0)
	gen := leaked.Gen()
	s.Begin(idle, 0)
	require.True(t, idle.End(idle.Gen()))
	s.Next()

	require.True(t, epoch.Abandon(leaked), "it was live")
	require.False(t, epoch.Abandon(idle), "it had ended")
	require.False(t, epoch.Abandon(never), "it never began")
	require.False(t, epoch.Abandon(evicted), "it was live no more")
	require.EqualValues(t, 1, s.Leaked())
	require.Empty(t, live(s, s.Announce()), "what a leaked handle pinned is free")
	open, ended, _ := s.Census()
	require.Zero(t, open)
	require.Equal(t, uint64(3), ended)
	require.False(t, leaked.End(gen), "a handle that turns up again ends nothing")
	require.Zero(t, s.Owned())
	require.False(t, epoch.Abandon(leaked), "once is enough")
	require.Zero(t, s.Groups())
}

// A promoted transaction whose handle is leaked leaves its slot to the next round.
func TestAbandonPromoted(t *testing.T) {
	for _, evicted := range []bool{false, true} {
		s := epoch.NewSlots()
		slot, _ := begin(s, 0)
		s.Next()
		rounds(s, 3)
		require.Equal(t, 1, s.Pins())
		if evicted {
			s.Round(time.Hour, epoch.Limits{Evict: time.Minute})
			require.Zero(t, s.Pins(), "evicted")
		}
		require.Equal(t, !evicted, epoch.Abandon(slot))
		require.Equal(t, 1, s.Owned())
		rounds(s, 1)
		require.Zero(t, s.Owned())
		require.Zero(t, s.Pins())
		require.False(t, epoch.Abandon(slot))
	}
}

// Slots are acquired from the bottom, and what is not needed goes from the top.
func TestSlotsAreUsedFromTheBottom(t *testing.T) {
	s := epoch.NewSlots()
	const n = 5 * epoch.GroupSize
	var slots []*epoch.Slot
	for range n {
		slots = append(slots, s.Acquire())
	}
	require.Equal(t, 5, s.Groups())
	for _, i := range rand.Perm(n) {
		if i%epoch.GroupSize != 7 {
			s.Release(slots[i])
			s.Release(slots[i])
		}
	}
	require.Equal(t, 5, s.Groups())
	require.Equal(t, 5, s.Owned())
	for i := range 3 * (epoch.GroupSize - 1) {
		slots[i] = s.Acquire()
	}
	require.Equal(t, 5, s.Groups())
	s.Release(slots[n-epoch.GroupSize+7])
	require.Equal(t, 4, s.Groups(), "the last one is empty")
	s.Release(slots[n-2*epoch.GroupSize+7])
	require.Equal(t, 3, s.Groups())
	require.Equal(t, 3*epoch.GroupSize, s.Owned(), "the first three are full")
}

// Begin and End may be calls of different goroutines on different Ps.
func TestBeginHereEndThere(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const n = 2000
	s := epoch.NewSlots()
	type handle struct {
		slot *epoch.Slot
		gen  epoch.Gen
	}
	open := make(chan handle, 64)
	idle := make(chan *epoch.Slot, 64)
	for range cap(idle) {
		idle <- s.Acquire()
	}
	var begins, ends sync.WaitGroup
	for range 4 {
		begins.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for range n {
				slot := <-idle
				s.Begin(slot, 0)
				open <- handle{slot, slot.Gen()}
				s.Next()
			}
		})
	}
	var lost atomic.Uint64
	for range 3 {
		ends.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for h := range open {
				if !h.slot.End(h.gen) {
					lost.Add(1)
				}
				idle <- h.slot
			}
		})
	}
	begins.Wait()
	close(open)
	ends.Wait()
	require.Zero(t, lost.Load())
	live, ended, _ := s.Census()
	require.Zero(t, live)
	require.Equal(t, uint64(4*n), ended)
}

// What slots have counted is counted once, even while they are released.
func TestCensusBesideRelease(t *testing.T) {
	for range 300 {
		s := epoch.NewSlots()
		const n = 64
		slots := make([]*epoch.Slot, n)
		for i := range slots {
			slots[i] = s.Acquire()
			gen := slots[i].Gen()
			s.Begin(slots[i], 0)
			slots[i].AddInstalled(1)
			slots[i].End(gen)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, slot := range slots {
				s.Release(slot)
			}
		}()
		for over := false; !over; {
			select {
			case <-done:
				over = true
			default:
			}
			_, ended, installed := s.Census()
			require.EqualValues(t, n, ended)
			require.EqualValues(t, n, installed)
		}
	}
}
