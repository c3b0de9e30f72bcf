package results

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The distribution of U is that of all orders of few samples.
func TestDistributionOfU(t *testing.T) {
	for n1 := 1; n1 <= 5; n1++ {
		for n2 := 1; n2 <= 5; n2++ {
			count := make([]float64, n1*n2+1)
			var orders func(first, second, u int)
			orders = func(first, second, u int) {
				if first == 0 && second == 0 {
					count[u]++
					return
				}
				if first > 0 { // it is larger than those of the second side that are left
					orders(first-1, second, u+second)
				}
				if second > 0 {
					orders(first, second-1, u)
				}
			}
			orders(n1, n2, 0)
			all, sum := 0.0, 0.0
			for _, n := range count {
				all += n
			}
			for u, n := range count {
				sum += n
				require.InDelta(t, sum/all, chanceOfU(n1, n2, u), 1e-12)
			}
		}
	}
	require.Zero(t, chanceOfU(3, 3, -1))
	exact := distributionOfU(70, 70)
	for _, u := range []int{1700, 2000, 2450} {
		require.InDelta(t, exact[u], chanceOfU(70, 70, u), 0.001, "beyond what is computed exactly")
	}
}

// Estimate, bounds and p-value of samples that are told apart, and of ones that are not.
func TestShift(t *testing.T) {
	s, ok := shiftOf([]float64{1, 2, 4}, []float64{8, 16, 32}, false)
	require.True(t, ok)
	require.Equal(t, 8.0, s.estimate())
	require.InDelta(t, 1.0/20, s.chance(1), 1e-12, "all of one side are above all of the other")
	require.InDelta(t, 2.0/20, s.chance(2), 1e-12, "a tie speaks for the limit")
	lo, hi := s.bounds(0.05)
	require.Equal(t, 2.0, lo)
	require.Equal(t, 32.0, hi)
	lo, hi = s.bounds(0.04)
	require.Zero(t, lo)
	require.True(t, math.IsInf(hi, 1))

	s, ok = shiftOf([]float64{0, 0}, []float64{0, 3}, false)
	require.True(t, ok)
	require.Equal(t, []float64{1, 1, math.Inf(1), math.Inf(1)}, s.factors)
	for _, bad := range [][2][]float64{{{-1}, {1}}, {{1}, {-1}}, {{}, {1}}, {{1}, {}}} {
		_, ok = shiftOf(bad[0], bad[1], false)
		require.False(t, ok)
	}
}

// A factor is beyond the lower bound if and only if the test does not find the samples worse by it,
// and an improvement on one side is a loss on the other.
func TestShiftBoundsAreTheTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		figures := rapid.SliceOfN(rapid.Map(rapid.IntRange(1, 50), func(i int) float64 {
			return float64(i)
		}), 1, 12)
		x, y := figures.Draw(t, "x"), figures.Draw(t, "y")
		s, _ := shiftOf(x, y, false)
		lo, hi := s.bounds(0.05)
		require.LessOrEqual(t, lo, hi)
		for _, f := range s.factors {
			require.Equal(t, f < lo, s.chance(f) <= 0.05, "%v: %v, %v", f, lo, s.chance(f))
		}
		back, _ := shiftOf(y, x, false)
		backLo, backHi := back.bounds(0.05)
		require.InDelta(t, lo, 1/backHi, 1e-9)
		require.InDelta(t, 1/hi, backLo, 1e-9)
		higher, _ := shiftOf(y, x, true)
		require.True(t, slices.Equal(s.factors, higher.factors))
	})
}
