package bench

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/internal/workfile"
)

// A drawing draws numbers as a draw of a file says. It is read-only once made, but for newest, and
// shared by all goroutines.
type drawing struct {
	kind  drawKind
	from  int64
	n     int   // numbers there are, from from on
	ranks *zipf // of zipf and latest
	hot   int   // how many numbers are hot
	of    uint64
	moves int64
	a     int
	// newest is where the number of the next new key is; latest counts from there.
	newest *atomic.Int64
}

type drawKind uint8

const (
	drawUniform drawKind = iota
	drawRank
	drawLatest
	drawHot
	drawNURand
)

// drawings makes the draws of a file. Those that share a distribution share its table.
type drawings struct {
	workload Workload
	seed     uint64
	newest   []*atomic.Int64 // by table
	records  []int           // by table
	made     map[ranksKey]*zipf
}

type ranksKey struct {
	n         int
	theta     float64
	scrambled bool
}

func (d *drawings) of(spec *workfile.Draw) *drawing {
	vars := d.workload.fileVars()
	g := &drawing{n: 0}
	if spec.Table >= 0 {
		g.n, g.newest = d.records[spec.Table], d.newest[spec.Table]
	} else {
		g.from = spec.From.Eval(vars)
		g.n = int(spec.To.Eval(vars) - g.from + 1)
	}
	theta := spec.Theta
	if theta < 0 {
		theta = d.workload.Params.Theta
	}
	switch spec.By {
	case workfile.Zipf:
		g.kind, g.ranks = drawRank, d.ranks(ranksKey{g.n, theta, spec.Scrambled})
	case workfile.Latest:
		g.kind, g.ranks = drawLatest, d.ranks(ranksKey{g.n, theta, false})
	case workfile.Hot:
		g.kind, g.moves = drawHot, spec.Moves
		g.hot = min(max(int(float64(g.n)*spec.Share), 1), g.n)
		g.of = uint64(spec.Of * (1 << 32))
		if g.hot == g.n {
			g.of = 1 << 32
		}
	case workfile.NURand:
		g.kind, g.a = drawNURand, int(spec.A)
	}
	return g
}

func (d *drawings) ranks(key ranksKey) *zipf {
	if z := d.made[key]; z != nil {
		return z
	}
	z := newZipf(key.n, key.theta)
	if key.scrambled {
		z.scramble(d.seed)
	}
	d.made[key] = z
	return z
}

// draw returns a number. s and drawn, which counts the draws, are the goroutine's.
func (d *drawing) draw(s *stream, drawn *int64) int64 {
	switch d.kind {
	case drawRank:
		return d.from + int64(d.ranks.draw(s))
	case drawLatest:
		return d.newest.Load() - 1 - int64(d.ranks.draw(s))
	case drawHot:
		first := 0
		if d.moves > 0 {
			first = int((*drawn / d.moves * int64(d.hot)) % int64(d.n))
			*drawn++
		}
		if s.next()>>32 < d.of {
			first += s.below(d.hot)
		} else {
			first += d.hot + s.below(d.n-d.hot)
		}
		if first >= d.n {
			first -= d.n
		}
		return d.from + int64(first)
	case drawNURand:
		return d.from + (int64(s.below(d.a+1))|(d.from+int64(s.below(d.n))))%int64(d.n)
	}
	return d.from + int64(s.below(d.n))
}

// scramble gives the ranks to the indices anew, at random, so that those that are drawn most are
// not next to each other.
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

// fileVars returns the parameters, where expressions look for them.
func (w Workload) fileVars() []int64 {
	vars := make([]int64, workfile.SlotKey+1)
	vars[workfile.SlotKeys] = int64(max(w.Params.Keys, 0))
	return vars
}

// maxNumbers is how many numbers a drawing draws from at most.
const maxNumbers = 1 << 62

// mix draws operations in proportion to their weights. Of each but the last it has the number that
// a draw is below.
type mix []uint64

func mixOf(f *workfile.File) mix {
	total := 0.0
	for i := range f.Operations {
		total += float64(f.Operations[i].Weight)
	}
	var m mix
	sum := 0.0
	for i := range f.Operations[:len(f.Operations)-1] {
		sum += float64(f.Operations[i].Weight)
		if sum >= total {
			m = append(m, math.MaxUint64)
			continue
		}
		m = append(m, uint64(sum/total*(1<<64)))
	}
	return m
}

// draw takes one number from s. With few operations to look through, of which most are drawn
// rarely, this is faster than an alias table, whose branch nobody can predict.
func (m mix) draw(s *stream) int {
	x := s.next()
	for i, below := range m {
		if x < below {
			return i
		}
	}
	return len(m)
}

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
