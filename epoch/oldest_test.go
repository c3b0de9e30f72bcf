package epoch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
)

func TestOldest(t *testing.T) {
	s := epoch.NewSlots()
	a, b := s.Acquire(), s.Acquire()
	check := func(now int64, wantEpoch uint64, wantSince int64) {
		t.Helper()
		e, since, ok := s.Oldest(now)
		require.True(t, ok)
		require.Equal(t, wantEpoch, e)
		require.Equal(t, wantSince, since)
	}
	none := func(now int64) {
		t.Helper()
		_, _, ok := s.Oldest(now)
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
		_, _, ok := s.Oldest(10)
		require.True(t, ok)
		s.Begin(slots[1-first])
		e, since, ok := s.Oldest(20)
		require.True(t, ok)
		require.Equal(t, uint64(epoch.First), e)
		require.Equal(t, int64(10), since, "the reader in slot %d has been seen since 10", first)
	}
}
