package bench

import (
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
