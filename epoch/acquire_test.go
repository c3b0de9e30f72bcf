package epoch_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
)

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
