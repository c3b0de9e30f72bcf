package epoch_test

import (
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
	require.Equal(t, want, liveEpochs(s, s.Announce()))
	open, _, _ := s.Census()
	require.Equal(t, n, open)

	for i := range slots {
		slots[i].End(slots[i].Gen())
	}
	require.Empty(t, liveEpochs(s, s.Announce()))
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
	require.Empty(t, liveEpochs(s, s.Announce()), "what a leaked handle pinned is free")
	open, ended, _ := s.Census()
	require.Zero(t, open)
	require.Equal(t, uint64(3), ended)
	require.False(t, leaked.End(gen), "a handle that turns up again ends nothing")
	require.Zero(t, s.Owned())
	require.False(t, epoch.Abandon(leaked), "once is enough")
	require.Zero(t, s.Groups())
}
