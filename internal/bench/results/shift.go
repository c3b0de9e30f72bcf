package results

import (
	"math"
	"slices"
	"sort"
	"sync"
)

// A shift is the factor by which one set of samples is worse than another. The only assumption is
// that a change multiplies the samples. Estimate, bounds and p-value agree with each other (Hodges
// and Lehmann, Estimates of location based on rank tests, 1963): the estimate is the median of the
// factors of all pairs, the bounds are two of these factors, chosen by rank, and the real factor is
// above a bound, at a level of confidence, if and only if the U test says so.
type shift struct {
	factors []float64 // of each pair of samples, ascending
	n1, n2  int
	turns   bool // see [turnsShiftOf]
}

// shiftOf returns the shift from before to after. It returns false if there is none: without
// samples, or with figures below zero.
func shiftOf(before, after []float64, higherIsBetter bool) (shift, bool) {
	if len(before) == 0 || len(after) == 0 || slices.Min(before) < 0 || slices.Min(after) < 0 {
		return shift{}, false
	}
	if higherIsBetter {
		before, after = after, before
	}
	s := shift{n1: len(before), n2: len(after)}
	for _, x := range before {
		for _, y := range after {
			f := 1.0 // also of zero to zero
			if x != y {
				f = y / x
			}
			s.factors = append(s.factors, f)
		}
	}
	slices.Sort(s.factors)
	return s, true
}

// estimate returns the most likely factor.
func (s shift) estimate() float64 {
	n := len(s.factors)
	a, b := s.factors[(n-1)/2], s.factors[n/2]
	if a == b {
		return a
	}
	return math.Sqrt(a * b)
}

// chance returns the probability of samples that look as much worse as these, or more so, if the
// real factor is limit or less. Factors of exactly limit count as less.
func (s shift) chance(limit float64) float64 {
	return s.tail(sort.Search(len(s.factors), func(i int) bool { return s.factors[i] > limit }))
}

// tail returns the probability that at most u of the factors are on a certain side of the real one.
func (s shift) tail(u int) float64 {
	if s.turns {
		return chanceOfRanks(s.n1, u)
	}
	return chanceOfU(s.n1, s.n2, u)
}

// bounds returns bounds of the real factor. Each is wrong with a probability of at most alpha. They
// are zero and infinite if the samples are too few for alpha.
func (s shift) bounds(alpha float64) (lo, hi float64) {
	n := sort.Search(len(s.factors), func(u int) bool { return s.tail(u) > alpha })
	if n == 0 {
		return 0, math.Inf(1)
	}
	return s.factors[n-1], s.factors[len(s.factors)-n]
}

// maxExact is the number of pairs up to which the distribution of U is exact. Beyond, the normal
// distribution is as good.
const maxExact = 60 * 60

// chanceOfU returns the probability that U is at most u. U is of n1 and n2 samples of the same
// distribution on two sides: the number of pairs in which the sample of the first side is larger.
func chanceOfU(n1, n2, u int) float64 {
	switch pairs := n1 * n2; {
	case u < 0:
		return 0
	case u >= pairs:
		return 1
	case pairs > maxExact:
		sigma := math.Sqrt(float64(pairs) * float64(n1+n2+1) / 12)
		return math.Erfc((float64(pairs)/2-float64(u)-0.5)/sigma/math.Sqrt2) / 2
	}
	sums, ok := sumsOfU.Load([2]int{n1, n2})
	if !ok {
		sums, _ = sumsOfU.LoadOrStore([2]int{n1, n2}, distributionOfU(n1, n2))
	}
	return sums.([]float64)[u]
}

var sumsOfU sync.Map // [2]int to results of distributionOfU

// distributionOfU returns the probability of each u or less. It counts orders of samples by the
// recurrence of Mann and Whitney (On a test of whether one of two random variables is
// stochastically larger than the other, 1947): the largest is on one side, or on the other.
func distributionOfU(n1, n2 int) []float64 {
	last := make([][]float64, n2+1) // of one sample less on the first side
	for m := range last {
		last[m] = []float64{1}
	}
	for n := 1; n <= n1; n++ {
		list := [][]float64{{1}}
		for m := 1; m <= n2; m++ {
			orders := make([]float64, n*m+1)
			for u, count := range last[m] {
				orders[u+m] += count
			}
			for u, count := range list[m-1] {
				orders[u] += count
			}
			list = append(list, orders)
		}
		last = list
	}
	sums := last[n2]
	for u := 1; u < len(sums); u++ {
		sums[u] += sums[u-1]
	}
	all := sums[len(sums)-1]
	for u := range sums {
		sums[u] /= all
	}
	return sums
}
