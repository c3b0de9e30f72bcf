package bench

import (
	"math"
	"math/bits"
)

// zipf draws indices in [0, n) with probability proportional to
// 1/(index+1)^theta, exactly, for any theta of 0 or more (0 is uniform). It is an
// alias table (Walker 1977, built as in Vose 1991): a draw costs one random
// number and one or two table accesses whatever n is. math/rand.Zipf, being a
// rejection method for an unbounded distribution, needs theta above 1.
//
// A zipf is read-only once made and is shared by all goroutines.
type zipf struct {
	cells []aliasCell
}

// aliasCell splits one n-th of the probability between its own index and
// another's: a fraction below keep belongs to its own.
type aliasCell struct {
	keep  uint64 // as a fraction of 2^64
	other uint32
}

// newZipf returns the distribution over n indices. It takes O(n) time and 16
// bytes for each.
func newZipf(n int, theta float64) *zipf {
	weights := make([]float64, n)
	sum := 0.0
	for i := n - 1; i >= 0; i-- { // smallest first: less rounding
		weights[i] = math.Pow(float64(i+1), -theta)
		sum += weights[i]
	}
	return aliasTable(weights, sum)
}

// aliasTable returns the distribution in proportion to weights, which add up to sum. It uses weights.
func aliasTable(weights []float64, sum float64) *zipf {
	n := len(weights)
	z := &zipf{cells: make([]aliasCell, n)}
	var poor, rich []int
	for i := range weights {
		weights[i] *= float64(n) / sum // now 1 on average
		if weights[i] < 1 {
			poor = append(poor, i)
		} else {
			rich = append(rich, i)
		}
	}
	for len(poor) > 0 && len(rich) > 0 {
		p, r := poor[len(poor)-1], rich[len(rich)-1]
		poor = poor[:len(poor)-1]
		z.cells[p] = aliasCell{keep: uint64(weights[p] * (1 << 64)), other: uint32(r)}
		weights[r] -= 1 - weights[p]
		if weights[r] < 1 {
			rich = rich[:len(rich)-1]
			poor = append(poor, r)
		}
	}
	for _, rest := range [][]int{poor, rich} { // exactly 1 but for rounding
		for _, i := range rest {
			z.cells[i] = aliasCell{keep: math.MaxUint64, other: uint32(i)}
		}
	}
	return z
}

// draw takes one number from s: its product with n has the cell above the binary
// point and the fraction within the cell below it.
func (z *zipf) draw(s *stream) int {
	i, fraction := bits.Mul64(s.next(), uint64(len(z.cells)))
	c := &z.cells[i]
	if fraction < c.keep {
		return int(i)
	}
	return int(c.other)
}
