package epoch_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/invariant"
)

// A slot takes two cache lines, so that nobody else's writes disturb its owner.
func TestSlotSize(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 && !invariant.Enabled {
		require.EqualValues(t, 128, epoch.SlotSize)
	}
}

// A handle that is closed late, when its slot serves another transaction, must
// not end that one.
func TestEndStale(t *testing.T) {
	s := epoch.NewSlots()
	slot := s.Acquire()
	var stale []epoch.Gen
	for range 4 {
		gen := slot.Gen()
		s.Begin(slot, 0)
		require.Equal(t, gen, slot.Gen(), "Begin does not change the generation")
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

// collide has several goroutines make calls that end the transaction in slot, until they have
// been in each other's way often enough, or have made so many calls: as many have won as
// generations have passed.
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

// The counts of slots are added up once, even while they are released.
func TestCensusBesideRelease(t *testing.T) {
	for range 300 {
		s := epoch.NewSlots()
		const n = 64
		slots := make([]*epoch.Slot, n)
		for i := range slots {
			slots[i] = s.Acquire()
			gen := slots[i].Gen()
			s.Begin(slots[i], 0)
			slots[i].Settle(1)
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
