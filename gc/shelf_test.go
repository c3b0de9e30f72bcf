package gc_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
)

// Of the items set aside those become due whose epoch is no longer live: for all pairs of subsets
// of a small set, put in any order.
func TestShelves(t *testing.T) {
	subset := func(bits int) (s []epoch.Epoch) {
		for i := range 5 {
			if bits>>i&1 == 1 {
				s = append(s, epoch.Epoch(10+i))
			}
		}
		return s
	}
	for aside := range 32 {
		for live := range 32 {
			put := subset(aside)
			for range 2 {
				var s gc.Shelf
				for _, e := range put {
					s.Put(e, e)
				}
				require.ElementsMatch(t, subset(aside&^live), s.Due(100, subset(live)...), "%v aside, %v live",
					put, subset(live))
				require.Equal(t, len(subset(aside&live)), s.Waiting())
				require.Empty(t, s.Due(100, subset(live)...))
				// An epoch that has ended before it is put there is due as well.
				s.Put(30, 30)
				require.Equal(t, []epoch.Epoch{30}, s.Due(100, subset(live)...))
				require.Len(t, s.Due(100), len(subset(aside&live)))
				slices.Reverse(put)
			}
		}
	}
}

// A shelf may be taken down in parts. Items that wait for writers are due when these read above.
func TestShelvesInParts(t *testing.T) {
	var s gc.Shelf
	for i := range epoch.Epoch(10) {
		s.Put(5, i)
		s.Put(7, i)
	}
	met := map[epoch.Epoch]int{}
	for range 4 {
		some := s.Due(3, 7)
		require.LessOrEqual(t, len(some), 3)
		for _, what := range some {
			met[what]++
		}
	}
	require.Len(t, met, 10)
	require.Equal(t, 10, s.Waiting())
	require.Len(t, s.Due(100), 10)

	s.PutForWriters(5, 1)
	s.PutForWriters(7, 2)
	require.Empty(t, s.DueForWriters(5))
	require.Equal(t, []epoch.Epoch{1}, s.DueForWriters(6))
	require.Empty(t, s.DueForWriters(7))
	require.Equal(t, []epoch.Epoch{2}, s.DueForWriters(8))
	require.Zero(t, s.Waiting())
}
