package tree

import (
	"sync/atomic"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// A Span is a range of keys: those from the one at Low to the one at High. An end that is nil is open;
// one that is exclusive has not that key itself.
type Span struct {
	Low, High                   unsafe.Pointer
	LowExclusive, HighExclusive bool
}

// Side returns 0 if the key at key is in s, and else -1 if it is below s, or 1. It may call compare.
func (t *Tree) Side(s *Span, key unsafe.Pointer) int { return t.order.Side(s, key) }

// Side returns 0 if the key at key is in s, and else -1 if it is below s, or 1.
func (o *Order) Side(s *Span, key unsafe.Pointer) int {
	if s == nil {
		return 0
	}
	if s.Low != nil {
		if c := o.Compare(key, s.Low); c < 0 || c == 0 && s.LowExclusive {
			return -1
		}
	}
	if s.High != nil {
		if c := o.Compare(key, s.High); c > 0 || c == 0 && s.HighExclusive {
			return 1
		}
	}
	return 0
}

// A Cursor goes over the heads of a span in their order. It never waits, and keeps one inner node and
// some leaves reachable. It meets every key once that is there from its beginning to its end; one that
// is inserted or removed meanwhile may be met or not, and twice if it is removed and comes again. It
// may call compare.
type Cursor struct {
	t      *Tree
	down   bool
	done   bool
	from   sep  // where to go on if the leaf has been replaced
	any    bool // from has no meaning: from the very end
	strict bool // not from itself
	to     sep  // where the span ends
	toEx   bool // before to
	p      *inner
	i      int // the next leaf is kid i of p, if that is not nil
}

// Scan returns a cursor for a span, upwards or downwards. It keeps the addresses of the keys.
func (t *Tree) Scan(s Span, down bool) Cursor {
	c := Cursor{t: t, down: down, any: true, to: sep{inf: true}}
	first, last := s.Low, s.High
	c.strict, c.toEx = s.LowExclusive, s.HighExclusive
	if down {
		first, last = last, first
		c.strict, c.toEx = c.toEx, c.strict
	}
	if first != nil {
		c.from, c.any = t.at(first), false
	}
	if last != nil {
		c.to = t.at(last)
	}
	return c
}

// A Batch is what a cursor has met in a leaf: heads, and the numbers of the slots that they were
// found by, which may have moved meanwhile.
type Batch struct {
	Leaf  *Leaf
	N     int
	Heads [32]*Head
	I     [32]uint8
}

// Next puts the heads of the next leaf into b, and reports whether there was one; there may be none in
// it. A head was loaded a while before its turn comes.
func (c *Cursor) Next(b *Batch) bool {
	if c.done {
		return false
	}
	c.leaf(b)
	if !c.done && c.p != nil {
		c.ahead()
	}
	if !hooks.Enabled {
		for _, h := range b.Heads[:b.N&31] {
			atomic.LoadUint64((*uint64)(unsafe.Pointer(h))) // for the cache: loads that do not depend on each other
		}
	}
	return true
}

// locate finds the next leaf, unless it is known.
func (c *Cursor) locate() {
	switch {
	case c.p != nil:
	case c.any:
		c.p, c.i = c.end()
	default:
		c.p, c.i = c.t.parent(c.from, c.strict && c.down)
	}
}

// leaf puts the heads of the next leaf into b.
func (c *Cursor) leaf(b *Batch) {
	hooks.Walking()
	for {
		b.N = 0
		first := c.p == nil // then a part of the leaf may be out of the span
		c.locate()
		l := c.p.leaf(c.i)
		low, high := c.p.sep(c.i-1), c.p.sep(c.i)
		w, direct := l.load(), true
		for l != nil && w.dead() {
			direct = false
			if l = c.follow(l, first, &low, &high); l != nil {
				w = l.load()
			}
		}
		if l == nil || !c.gather(b, l, w, first, direct, low, high) {
			c.p = nil // find it once more
			continue
		}
		c.move(direct, low, high)
		return
	}
}

// follow returns what has replaced l, and the range that is wanted of it, which may be a part of
// its own: nil if it is to be looked for from the root, from the end of the range before.
func (c *Cursor) follow(l *Leaf, first bool, low, high *sep) *Leaf {
	r := l.repl.Load()
	switch {
	case r == nil || !first:
		return nil
	case r.right == nil:
		return r.left
	case c.any && !c.down, !c.any && c.t.pick(r, c.from, c.strict && c.down) == r.left:
		*high = r.sep
		return r.left
	}
	*low = r.sep
	return r.right
}

// gather puts the heads of l, whose word was w, into b. It returns false if l was replaced so long ago
// that the rest has to be looked for from the root; what was gathered until then is good if there is
// anything.
func (c *Cursor) gather(b *Batch, l *Leaf, w word, first, direct bool, low, high sep) bool {
	t := c.t
	from, to := 0, w.used()
	if first && !c.any {
		r := t.rank(l, w, c.from)
		if !r.ok {
			return false
		}
		switch {
		case !c.down && c.strict:
			from = r.hi
		case !c.down:
			from = r.lo
		case c.strict:
			to = r.lo
		default:
			to = r.hi
		}
	}
	last, none := c.ends(low, high)
	if none {
		c.done = true
		return true
	}
	if last {
		r := t.rank(l, w, c.to)
		if !r.ok {
			return false
		}
		switch {
		case !c.down && c.toEx:
			to = min(to, r.lo)
		case !c.down:
			to = min(to, r.hi)
		case c.toEx:
			from = max(from, r.hi)
		default:
			from = max(from, r.lo)
		}
	}
	var room [32]uint8
	order := w.order(&room)
	b.Leaf = l
	at, step, n := from, 1, 0
	if c.down {
		at, step = to-1, -1
	}
	for ; from < to; from, at = from+1, at+step {
		i := int(order[at&31] & 31)
		h := l.slots[i].Load()
		if h == t.Moved {
			var ok bool
			if _, h, ok = t.resolve(l, i); !ok {
				if b.N = n; n == 0 {
					return false
				}
				c.from, c.any, c.strict = t.at(t.key(b.Heads[n-1])), false, true
				c.p = nil
				return true
			}
		}
		if h == nil || !direct && !c.within(h, low, high) {
			continue
		}
		b.Heads[n&31], b.I[n&31] = h, uint8(i)
		n++
	}
	b.N = n
	c.done = last
	return true
}

// ends reports whether the span ends in the range from low to high, and whether it ends before.
func (c *Cursor) ends(low, high sep) (here, before bool) {
	if c.to.inf {
		return false, false
	}
	fromLow, fromHigh := 1, -1 // where it ends
	if !low.inf {
		fromLow = c.t.compare(c.to, low)
	}
	if !high.inf {
		fromHigh = c.t.compare(c.to, high)
	}
	if c.down {
		return fromLow > 0 || fromLow == 0 && c.toEx, fromHigh > 0
	}
	return fromHigh < 0 || fromHigh == 0 && c.toEx, fromLow < 0
}

// within reports whether the key of h is in the range that was asked for.
func (c *Cursor) within(h *Head, low, high sep) bool {
	at := c.t.at(c.t.key(h))
	return (low.inf || c.t.compare(at, low) >= 0) && (high.inf || c.t.compare(at, high) < 0)
}

// move goes on to the next leaf, from one that has the keys from low to high.
func (c *Cursor) move(direct bool, low, high sep) {
	if c.done || c.p == nil { // or it has been said where to go on
		return
	}
	c.any, c.from, c.strict = false, high, false
	step, n := 1, int(c.p.n)
	if c.down {
		c.from, c.strict, step = low, true, -1
	}
	if c.done = c.from.inf; c.done {
		return
	}
	if c.i += step; !direct || c.i < 0 || c.i >= n {
		c.p = nil
	}
}

// end returns the place of the first or last leaf.
func (c *Cursor) end() (*inner, int) {
	for p := c.t.root.Load(); ; {
		i := 0
		if c.down {
			i = int(p.n) - 1
		}
		if p.level == 0 {
			return p, i
		}
		p = (*inner)(p.kid(i))
	}
}

// ahead begins to load the heads of the leaf that comes next, and the leaf after that.
func (c *Cursor) ahead() {}
