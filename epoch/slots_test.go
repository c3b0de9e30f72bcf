package epoch_test

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
)

func TestClock(t *testing.T) {
	s := epoch.NewSlots()
	require.Equal(t, uint64(epoch.First), s.Now())
	require.Zero(t, s.Bound(), "no bound was announced")
	require.Equal(t, uint64(epoch.First+1), s.Next())
	require.Equal(t, uint64(epoch.First+1), s.Now())

	// Many goroutines draw: no epoch twice, none left out.
	const goroutines, draws = 8, 1000
	drawn := make([][]uint64, goroutines)
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
		require.Equal(t, uint64(epoch.First+2+i), e)
	}
	require.Equal(t, all[len(all)-1], s.Now())
}

func TestBeginEnd(t *testing.T) {
	s := epoch.NewSlots()
	slot := s.Acquire()
	live, ended, _ := s.Census()
	require.Zero(t, live, "a fresh slot is not live")
	require.Zero(t, ended)

	// The slot is used again and again: generations name transactions.
	for i := range uint64(5) {
		gen := slot.Gen()
		at := s.Begin(slot)
		require.Equal(t, s.Now(), at)
		require.Equal(t, at, slot.Epoch())
		require.Equal(t, gen, slot.Gen(), "Begin does not change the generation")
		s.Next()
		require.Equal(t, at, slot.Epoch(), "a later commit does not move the reader")
		live, ended, _ = s.Census()
		require.Equal(t, 1, live)
		require.Equal(t, i, ended)
		require.Equal(t, []uint64{at}, s.Live(s.Announce(), nil))

		require.True(t, slot.End(gen))
		require.NotEqual(t, gen, slot.Gen(), "End moves the generation on")
		live, ended, _ = s.Census()
		require.Zero(t, live)
		require.Equal(t, i+1, ended)
		require.Empty(t, s.Live(s.Announce(), nil))
	}
}

// A handle that is closed late, when its slot serves another transaction, must
// not end that one.
func TestEndStale(t *testing.T) {
	s := epoch.NewSlots()
	slot := s.Acquire()
	var stale []uint64
	for range 4 {
		s.Begin(slot)
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

// The generation alone decides who ended a transaction. Several goroutines end
// whatever they find, as fast as they can, until they have been in each other's
// way often enough: each generation is ended by exactly one of them.
func TestEndOnce(t *testing.T) {
	const collisions, most = 1000, 20_000_000
	s := epoch.NewSlots()
	slot := s.Acquire()
	s.Begin(slot)
	first := slot.Gen()
	var wins, losses, calls atomic.Uint64
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for losses.Load() < collisions && calls.Load() < most {
				won, lost := uint64(0), uint64(0)
				for range 1000 {
					if slot.End(slot.Gen()) {
						won++
					} else {
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
	require.Equal(t, slot.Gen()-first, wins.Load(), "%d calls, %d found the transaction ended", calls.Load(), losses.Load())
}

func TestAnnounce(t *testing.T) {
	s := epoch.NewSlots()
	for range 3 {
		now := s.Next()
		require.Less(t, s.Bound(), now)
		require.Equal(t, now, s.Announce())
		require.Equal(t, now, s.Bound(), "the bound is stored when Announce returns, before any slot is scanned")
	}
	// Begin is not refused at the bound itself.
	require.Equal(t, s.Bound(), s.Begin(s.Acquire()))
}

func TestLive(t *testing.T) {
	s := epoch.NewSlots()
	begin := func() *epoch.Slot {
		slot := s.Acquire()
		s.Begin(slot)
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
	s.Begin(late)
	idle := s.Acquire()

	check := func(m uint64, want ...uint64) {
		t.Helper()
		require.Empty(t, cmp.Diff(want, s.Live(m, nil)))
	}
	m := s.Announce()
	require.Equal(t, uint64(4), m)
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
	s.Begin(idle)
	check(m, 2) // at the bound, not below
	require.True(t, two.End(two.Gen()))
	require.Empty(t, s.Live(m, nil))

	// The buffer is used.
	s.Next()
	buf := make([]uint64, 0, 8)
	got := s.Live(s.Announce(), buf)
	require.Equal(t, []uint64{m}, got)
	require.Same(t, &buf[:1][0], &got[0])
}

// A hundred thousand transactions are live at once, each with an epoch of its
// own: there is no last slot, and no epoch is left out of the list.
func TestAcquireWithoutLimit(t *testing.T) {
	const n = 100_000
	s := epoch.NewSlots()
	slots := make([]*epoch.Slot, n)
	want := make([]uint64, n)
	seen := make(map[*epoch.Slot]bool, n)
	for i := range slots {
		slots[i] = s.Acquire()
		seen[slots[i]] = true
		want[i] = s.Begin(slots[i])
		s.Next()
	}
	require.Len(t, seen, n, "a slot with two owners")
	require.GreaterOrEqual(t, s.Cap(), n)
	require.Less(t, s.Cap(), n+epoch.SlotsPerChunk)
	require.Equal(t, want, s.Live(s.Announce(), nil))
	live, _, _ := s.Census()
	require.Equal(t, n, live)

	for i := range slots {
		slots[i].End(slots[i].Gen())
	}
	require.Empty(t, s.Live(s.Announce(), nil))
	_, ended, _ := s.Census()
	require.Equal(t, uint64(n), ended)
}

func TestAcquireConcurrently(t *testing.T) {
	const goroutines, each = 8, 3*epoch.SlotsPerChunk + 5
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
				s.Live(s.Announce(), nil)
				s.Next()
			}
		}
	})
	for i := range owned {
		wg.Go(func() {
			for range each {
				slot := s.Acquire()
				s.Begin(slot)
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
	leaked, idle, never := s.Acquire(), s.Acquire(), s.Acquire()
	s.Begin(leaked)
	gen := leaked.Gen()
	s.Begin(idle)
	require.True(t, idle.End(idle.Gen()))
	s.Next()

	require.True(t, s.Abandon(leaked), "it was live")
	require.False(t, s.Abandon(idle), "it had ended")
	require.False(t, s.Abandon(never), "it never began")
	require.Empty(t, s.Live(s.Announce(), nil), "what a leaked handle pinned is free")
	live, ended, _ := s.Census()
	require.Zero(t, live)
	require.Equal(t, uint64(2), ended)
	require.False(t, leaked.End(gen), "a handle that turns up again ends nothing")

	// The slots have new owners, one each, before any new slot is made.
	size := s.Cap()
	again := map[*epoch.Slot]bool{s.Acquire(): true, s.Acquire(): true, s.Acquire(): true}
	require.Equal(t, map[*epoch.Slot]bool{leaked: true, idle: true, never: true}, again)
	require.Equal(t, size, s.Cap())
	for slot := range again {
		require.Equal(t, s.Now(), s.Begin(slot))
	}
	live, _, _ = s.Census()
	require.Equal(t, 3, live)
}

// Begin and End may be calls of different goroutines on different Ps.
func TestBeginHereEndThere(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const n = 2000
	s := epoch.NewSlots()
	type handle struct {
		slot *epoch.Slot
		gen  uint64
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
				s.Begin(slot)
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
