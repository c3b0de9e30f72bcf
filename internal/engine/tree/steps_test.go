package tree

import (
	"testing"
	"unsafe"
)

// A part is a span that has the keys from low to high.
type part struct {
	Span
	low, high int
}

func (p *part) has(i int) bool { return i >= p.low && i <= p.high }

const numberOfParts = 7

// somePart returns some part of n keys.
func (w *world[K]) somePart(number, n int) part {
	a, b := n/5, n-n/7
	if number == 6 {
		a, b = n/3+1, n/3+3
	}
	x, y := w.key(a), w.key(b)
	low, high := unsafe.Pointer(&x), unsafe.Pointer(&y)
	switch number {
	case 0:
		return part{Span{}, 0, n - 1}
	case 1:
		return part{Span{Low: low, High: high}, a, b}
	case 2:
		return part{Span{Low: low}, a, n - 1}
	case 3:
		return part{Span{High: high, HighExclusive: true}, 0, b - 1}
	case 4:
		return part{Span{Low: low, LowExclusive: true}, a + 1, n - 1}
	default:
		return part{Span{low, high, true, true}, a + 1, b - 1}
	}
}

// A walk is a scan that goes on while the tree is changed.
type walk struct {
	k     *known
	of    part
	down  bool
	fresh bool // the last change was before the step
	met   []bool
	last  int
}

func (w *world[K]) startWalk(k *known, number int, down bool) (*walk, *scanner) {
	n := len(k.heads)
	v := &walk{k: k, of: w.somePart(number, n), down: down, met: make([]bool, n), last: -1}
	if down {
		v.last = n
	}
	return v, &scanner{Cursor: w.tr.Scan(v.of.Span, down)}
}

// meetHead looks at a head that was met, of key i.
func (v *walk) meetHead(h *Head, i int) {
	check(v.k.t, !v.down && i > v.last || v.down && i < v.last, "key %d after %d", i, v.last)
	check(v.k.t, v.of.has(i), "key %d is not in the span", i)
	if v.fresh && i != v.k.spare {
		check(v.k.t, v.k.heads[i] == h, "key %d: %v is not %v", i, h, v.k.heads[i])
	}
	v.last, v.met[i] = i, true
}

// checkThroughout checks that all has been met that was there throughout.
func (v *walk) checkThroughout() {
	v.k.every(func(i int) {
		check(v.k.t, v.met[i] || v.k.gone[i] || !v.of.has(i), "key %d, down %v", i, v.down)
	})
}

// checkAll checks that all has been met.
func (v *walk) checkAll() {
	v.k.every(func(i int) {
		check(v.k.t, (v.k.heads[i] != nil && v.of.has(i)) == v.met[i], "key %d, down %v", i, v.down)
	})
}

// A scan goes on where it was, whatever is done to the tree between its steps.
func TestChangesBetweenSteps(t *testing.T) {
	t.Run("ints", func(t *testing.T) { changesBetweenSteps(t, someInts) })
	t.Run("text", func(t *testing.T) { changesBetweenSteps(t, someText) })
	t.Run("ragged", func(t *testing.T) { changesBetweenSteps(t, raggedText) })
	t.Run("edges", func(t *testing.T) { changesBetweenSteps(t, edgeInts(200)) })
	t.Run("compare", func(t *testing.T) { changesBetweenSteps(t, someByCompare) })
	t.Run("pairs", func(t *testing.T) { changesBetweenSteps(t, somePairs) })
}

func changesBetweenSteps[K comparable](t *testing.T, keys keys[K]) {
	const n = 200
	for first := range len(changes) + 1 { // the last one does another change at each step
		stride := 11
		if testing.Short() {
			stride = 29
		}
		for step := first; ; step += stride {
			more := false
			for which := range 2 * numberOfParts {
				w := newWorld(keys)
				k := w.knownOf(t, n)
				v, c := w.startWalk(k, which/2, which%2 == 1)
				v.fresh = true
				done := false
				for s := 0; !done; s++ {
					switch {
					case first == len(changes) && s >= step:
						changes[(s+step)%len(changes)].do(k)
					case s == step:
						changes[first].do(k)
					}
					more = more || s > step
					h := c.next()
					if done = h == nil; !done {
						v.meetHead(h, itemOf[K](h).value)
					}
				}
				v.checkThroughout()
				if which == 0 {
					w.checkAll(t, k.heads)
				}
			}
			if !more {
				break
			}
		}
	}
}
