package results

import (
	"math"
	"slices"
	"sort"
	"sync"
)

// turnsShiftOf is like [shiftOf], for samples taken in turns: the first of one side beside the
// first of the other, and so on. Each pair has a factor. Estimate, bounds and p-value follow from
// the Walsh averages, the means of every two of these factors and of each with itself: how many of
// them are above the real factor is distributed as the sum of ranks in Wilcoxon's test (Individual
// comparisons by ranking methods, 1945). That holds if either sample of a pair is as likely to be
// the first, and whatever the machine does from pair to pair.
func turnsShiftOf(before, after []float64, higherIsBetter bool) (shift, bool) {
	if len(before) == 0 || len(before) != len(after) ||
		slices.Min(before) < 0 || slices.Min(after) < 0 {
		return shift{}, false
	}
	if higherIsBetter {
		before, after = after, before
	}
	s := shift{n1: len(before), n2: len(before), turns: true}
	factors := make([]float64, len(before))
	for i, x := range before {
		factors[i] = 1 // also of zero to zero
		if x != after[i] {
			factors[i] = after[i] / x
		}
		for _, f := range factors[:i+1] {
			mean := math.Sqrt(f) * math.Sqrt(factors[i])
			if math.IsNaN(mean) { // of zero and infinite
				mean = 1
			}
			s.factors = append(s.factors, mean)
		}
	}
	slices.Sort(s.factors)
	return s, true
}

// chanceOfEither returns the probability of samples that differ so much, or more so, in either
// direction, if there is no difference.
func (s shift) chanceOfEither() float64 {
	below := sort.SearchFloat64s(s.factors, 1) // the others speak against something better
	better := s.tail(len(s.factors) - below)
	return min(1, 2*min(s.chance(1), better))
}

// maxExactTurns is the number of pairs up to which the distribution of the sum of ranks is exact.
const maxExactTurns = 120

// chanceOfRanks returns the probability that the sum of ranks of n pairs is at most u.
func chanceOfRanks(n, u int) float64 {
	all := n * (n + 1) / 2
	switch {
	case u < 0:
		return 0
	case u >= all:
		return 1
	case n > maxExactTurns:
		sigma := math.Sqrt(float64(all) * float64(2*n+1) / 12)
		return math.Erfc((float64(all)/2-float64(u)-0.5)/sigma/math.Sqrt2) / 2
	}
	sums, ok := sumsOfRanks.Load(n)
	if !ok {
		sums, _ = sumsOfRanks.LoadOrStore(n, distributionOfRanks(n))
	}
	return sums.([]float64)[u]
}

var sumsOfRanks sync.Map // int to results of distributionOfRanks

// distributionOfRanks returns the probability of each sum or less: every rank is in it, or not.
func distributionOfRanks(n int) []float64 {
	list := make([]float64, n*(n+1)/2+1)
	list[0] = 1
	for rank := 1; rank <= n; rank++ {
		for sum := rank * (rank + 1) / 2; sum >= 0; sum-- {
			list[sum] /= 2
			if sum >= rank {
				list[sum] += list[sum-rank] / 2
			}
		}
	}
	for i := 1; i < len(list); i++ {
		list[i] += list[i-1]
	}
	return list
}

// SmallestPOfTurns returns the smallest p-value that the two-sided test can give with that many
// pairs: if one side is better in all.
func SmallestPOfTurns(n int) float64 { return min(2*chanceOfRanks(n, 0), 1) }

// PairsFor returns how many pairs of samples it takes for a difference to be significant.
func PairsFor(alpha float64) int {
	n := 1
	for SmallestPOfTurns(n) > alpha {
		n++
	}
	return n
}
