package bench

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// A Draw chooses a number at random.
type Draw func(r *Rand) int64

// Zipf draws numbers below n with probability in proportion to 1/(number+1)^theta, exactly, for any
// theta of 0 or more; 0 is uniform.
func (m *Model) Zipf(n int, theta float64) Draw {
	if theta == 0 {
		return func(r *Rand) int64 { return int64(r.Below(n)) }
	}
	z := m.zipf(n, theta)
	return func(r *Rand) int64 { return int64(z.draw(r)) }
}

// Scrambled is Zipf, but the numbers that are drawn most are spread over all, by the seed.
func (m *Model) Scrambled(n int, theta float64) Draw {
	z := m.zipf(n, theta)
	m.prepare = append(m.prepare, func() { z.scramble(m.seed) })
	return func(r *Rand) int64 { return int64(z.draw(r)) }
}

// Latest is Zipf of the keys of a table, the newest one drawn most.
func (m *Model) Latest(t *Table, theta float64) Draw {
	z := m.zipf(t.Records, theta)
	return func(r *Rand) int64 { return t.next.Load() - 1 - int64(z.draw(r)) }
}

// Hot draws numbers below n: the lowest ones, a share of all, get a part of the draws.
func (m *Model) Hot(n int, share, part float64) Draw {
	hot := min(max(int(float64(n)*share), 1), n)
	of := uint64(part * (1 << 32))
	return func(r *Rand) int64 {
		if hot == n || r.next()>>32 < of {
			return int64(r.Below(hot))
		}
		return int64(hot + r.Below(n-hot))
	}
}

// NURand is the distribution of that name of TPC-C and TATP over the numbers below n, with C = 0.
func (m *Model) NURand(a, n int) Draw {
	return func(r *Rand) int64 { return int64(r.Below(a+1)|r.Below(n)) % int64(n) }
}

// zipf returns a table that is filled when the model is prepared.
func (m *Model) zipf(n int, theta float64) *zipf {
	z := new(zipf)
	m.prepare = append(m.prepare, func() { *z = *newZipf(n, theta) })
	return z
}

// Hash mixes the bits of x; no two numbers have the same hash.
func Hash(x int64) int64 {
	u := uint64(x) + 0x9e3779b97f4a7c15
	u = (u ^ u>>30) * 0xbf58476d1ce4e5b9
	u = (u ^ u>>27) * 0x94d049bb133111eb
	return int64(u ^ u>>31)
}

// unhash returns the number that has the hash.
func unhash(hash int64) int64 {
	h := uint64(hash)
	h ^= h>>31 ^ h>>62
	h *= 0x319642b2d24d8ec3 // the inverse of the factor, modulo 2^64
	h ^= h>>27 ^ h>>54
	h *= 0x96de1b173f119089
	h ^= h>>30 ^ h>>60
	return int64(h - 0x9e3779b97f4a7c15)
}

// mix draws operations in proportion to their weights. It has a bound for each operation but the
// last: the first operation whose bound is above the random number is drawn.
type mix []uint64

func mixOf(ops []operation) mix {
	total := 0.0
	for i := range ops {
		total += ops[i].weight
	}
	var m mix
	sum := 0.0
	for i := range ops[:len(ops)-1] {
		sum += ops[i].weight
		if sum >= total {
			m = append(m, math.MaxUint64)
			continue
		}
		m = append(m, uint64(sum/total*(1<<64)))
	}
	return m
}

// draw takes one number from r. As there are few operations, and most are drawn rarely, a search is
// faster than an alias table, whose branch no processor can predict.
func (m mix) draw(r *Rand) int {
	x := r.next()
	for i, below := range m {
		if x < below {
			return i
		}
	}
	return len(m)
}

// zipf draws indices in [0, n). It is an alias table (Walker 1977, built as in Vose 1991): a draw
// costs one random number and one or two table accesses whatever n is. math/rand.Zipf, being a
// rejection method for an unbounded distribution, needs theta above 1.
//
// A zipf is read-only once made and is shared by all goroutines.
type zipf struct{ cells []aliasCell }

// An aliasCell splits one n-th of the probability between its own index and another one. Where the
// random fraction is below keep, the own index is drawn.
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

// draw takes one number from r: its product with n has the cell above the binary
// point and the fraction within the cell below it.
func (z *zipf) draw(r *Rand) int {
	i, fraction := bits.Mul64(r.next(), uint64(len(z.cells)))
	c := &z.cells[i]
	if fraction < c.keep {
		return int(i)
	}
	return int(c.other)
}

// scramble permutes the indices at random, so that those that are drawn most are not next to each
// other.
func (z *zipf) scramble(seed uint64) {
	n := len(z.cells)
	to := make([]uint32, n)
	for i, k := range rand.New(rand.NewPCG(seed, uint64(n))).Perm(n) {
		to[i] = uint32(k)
	}
	cells := make([]aliasCell, n)
	for i, c := range z.cells {
		c.other = to[c.other]
		cells[to[i]] = c
	}
	z.cells = cells
}
