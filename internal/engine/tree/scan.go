package tree

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// A Span is a range of keys, from the one at Low to the one at High. An end that is nil is open. A
// key at an exclusive end is not in the span.
type Span struct {
	Low, High                   unsafe.Pointer
	LowExclusive, HighExclusive bool
}

// Side returns 0 if the key at key is in s, -1 if it is below s, and 1 if it is above. It may call
// compare.
func (t *Tree) Side(s *Span, key unsafe.Pointer) int { return t.order.Side(s, key) }

// Side returns 0 if the key at key is in s, -1 if it is below s, and 1 if it is above.
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

// A Cursor goes over the heads of a span in their order. It never waits, and keeps one inner node
// and some leaves reachable. It meets every key once that is there all the time. A key that is
// inserted or removed meanwhile may be met or not, and twice if it is removed and comes again. A
// Cursor may call compare.
type Cursor struct {
	t      *Tree
	down   bool
	done   bool
	from   separator // where to go on if the leaf has been replaced
	any    bool      // begin with the first or last key of all: from has no meaning
	strict bool      // without from itself
	to     separator // where the span ends
	toEx   bool      // without to itself
	p      *inner
	i      int // the next leaf is kid i of p, if that is not nil

	// The rest of the present leaf: left entries, from rank at on, upwards or downwards.
	l      *Leaf
	w      word // of the leaf
	at     int
	step   int
	left   int
	direct bool // the range of the leaf is the wanted one, which is
	low    separator
	high   separator
	room   order    // the numbers of the entries by rank
	met    *Head    // the last one
	was    struct { // how the leaf was found
		from   separator
		any    bool
		strict bool
	}
}

// Scan returns a cursor for a span, upwards or downwards. It keeps the addresses of the keys.
func (t *Tree) Scan(s Span, down bool) Cursor {
	c := Cursor{t: t, down: down, any: true, to: separator{inf: true}}
	first, last := s.Low, s.High
	c.strict, c.toEx = s.LowExclusive, s.HighExclusive
	if down {
		first, last = last, first
		c.strict, c.toEx = c.toEx, c.strict
	}
	if first != nil {
		c.from, c.any = t.separatorOf(first), false
	}
	if last != nil {
		c.to = t.separatorOf(last)
	}
	return c
}

// Next goes on to the next leaf, and reports whether there is one; Head has its contents.
func (c *Cursor) Next() bool {
	if c.done {
		return false
	}
	first := c.p == nil
	hooks.Walking()
	for !c.enter() {
		c.p = nil // find it once more
	}
	if first {
		c.prefetchPresent()
	}
	if !c.done && c.p != nil {
		c.ahead()
	}
	return true
}

// Head returns the head of the next key of the leaf, and where it was found: nil if there are no
// more.
func (c *Cursor) Head() (h *Head, at Place) {
	for c.left > 0 {
		c.left--
		i := int(c.room[c.at&63])
		h = c.cellAt(c.at & 63).Load()
		c.at += c.step
		if h != nil && h != c.t.Moved && c.direct || c.wanted(&h, i) {
			c.met = h
			return h, Place{c.l, uint8(i)}
		}
	}
	return nil, Place{}
}

// Rest returns how many keys of the leaf are left, for a caller that goes along them itself: the
// caller gets their heads by At, passes over nil, stops at the mark, and says by Met how far it has
// got. Rest returns 0 if only Head can go on: then there is more to look at than the heads.
func (c *Cursor) Rest() int {
	if c.direct {
		return c.left
	}
	return 0
}

// At returns the head of the n-th key that is left.
func (c *Cursor) At(n int) *Head { return c.cellAt((c.at + n*c.step) & 63).Load() }

// cellAt returns the cell of the entry of a rank.
func (c *Cursor) cellAt(rank int) *Cell {
	i := uintptr(c.room[rank])
	return (*Cell)(unsafe.Add(unsafe.Pointer(&c.l.cells), i*unsafe.Sizeof(Cell{})))
}

// Met goes on behind n keys. h is the last head of these, nil if none had one.
func (c *Cursor) Met(n int, h *Head) {
	c.at += n * c.step
	c.left -= n
	if h != nil {
		c.met = h
	}
}

// wanted reports whether the head h of entry i is to be met. If it has moved, wanted sets h to it.
func (c *Cursor) wanted(h **Head, i int) bool {
	if *h == c.t.Moved {
		var ok bool
		if _, *h, ok = c.t.resolve(c.l, i); !ok {
			// The leaf was replaced so long ago that the rest has to be looked for from the root.
			if c.left, c.done, c.p = 0, false, nil; c.met != nil {
				c.from, c.any, c.strict = c.t.separatorOf(c.t.key(c.met)), false, true
			} else {
				c.from, c.any, c.strict = c.was.from, c.was.any, c.was.strict
			}
			return false
		}
	}
	return *h != nil && (c.direct || c.within(*h))
}

// locate finds the next leaf, unless it is known.
func (c *Cursor) locate() {
	switch {
	case c.p != nil:
	case c.any:
		c.p, c.i = c.endLeaf()
	default:
		c.p, c.i = c.t.parent(c.from, c.strict && c.down)
		prefetchLeaf(c.p.kidAt(c.i))
		c.prefetchSeps()
		c.prefetchBehind()
	}
}

// enter finds the next leaf, and its part in the span. It returns false if the caller is to try
// again, from the root.
func (c *Cursor) enter() bool {
	first := c.p == nil // then a part of the leaf may be out of the span
	c.locate()
	l := c.p.leafAt(c.i)
	c.low, c.high = c.p.separatorAt(c.i-1), c.p.separatorAt(c.i)
	w := l.load()
	for c.direct = true; w.isDead(); w = l.load() {
		c.direct = false
		if l = c.follow(l, first, &c.low, &c.high); l == nil {
			return false
		}
	}
	c.l, c.w, c.met = l, w, nil
	c.was.from, c.was.any, c.was.strict = c.from, c.any, c.strict
	return c.takeEntries(w, first)
}

// follow returns the replacement of l, and narrows low and high to its range. It returns nil if the
// leaf is to be looked for from the root, beginning at the end of the range before.
func (c *Cursor) follow(l *Leaf, first bool, low, high *separator) *Leaf {
	r := l.repl.Load()
	switch {
	case r == nil || !first:
		return nil
	case r.right == nil:
		return r.left
	case c.any && !c.down, !c.any && c.t.pickLeaf(r, c.from, c.strict && c.down) == r.left:
		*high = r.sep
		return r.left
	}
	*low = r.sep
	return r.right
}

// takeEntries notes which entries of the leaf, whose word was w, are in the span, and where to go
// on.
func (c *Cursor) takeEntries(w word, first bool) bool {
	t, l := c.t, c.l
	from, to := 0, w.usedCount()
	if first && !c.any && !c.whole() {
		r := t.rankOf(l, w, c.from)
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
	last, none := c.spanEnds(c.low, c.high)
	if none {
		c.left, c.done = 0, true
		return true
	}
	if last {
		r := t.rankOf(l, w, c.to)
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
	if w.order(&c.room) != &c.room {
		c.room.copyFrom(0, 0)
	}
	c.at, c.step, c.left = from, 1, to-from
	if c.down {
		c.at, c.step = to-1, -1
	}
	if c.done = last; !last {
		c.moveOn(c.direct, c.low, c.high)
	}
	return true
}

// whole reports whether the cursor goes on at the very end of the leaf. Then all entries are to be
// met, even those whose keys, and so their places, have changed, see planSplit.
func (c *Cursor) whole() bool {
	end := c.low
	if c.down {
		end = c.high
	}
	return !end.inf && c.strict == c.down && c.t.compare(c.from, end) == 0
}

// spanEnds reports whether the span ends in the range from low to high, and whether before it.
func (c *Cursor) spanEnds(low, high separator) (here, before bool) {
	if c.to.inf {
		return false, false
	}
	fromLow, fromHigh := 1, -1 // to, compared with both ends
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
func (c *Cursor) within(h *Head) bool {
	at := c.t.separatorOf(c.t.key(h))
	return (c.low.inf || c.t.compare(at, c.low) >= 0) && (c.high.inf || c.t.compare(at, c.high) < 0)
}

// moveOn goes on to the next leaf, from one that has the keys from low to high.
func (c *Cursor) moveOn(direct bool, low, high separator) {
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

// endLeaf returns the place of the first or last leaf.
func (c *Cursor) endLeaf() (*inner, int) {
	for p := c.t.root.Load(); ; {
		i := 0
		if c.down {
			i = int(p.n) - 1
		}
		if p.level == 0 {
			return p, i
		}
		p = (*inner)(p.kidAt(i))
	}
}

// prefetchPresent begins to load the heads of the present leaf.
func (c *Cursor) prefetchPresent() {
	from, n := 0, c.w.usedCount()
	if c.w.added() == 0 {
		from, n = min(c.at, c.at+c.step*(c.left-1)), c.left
	}
	prefetchHeads(unsafe.Pointer(&c.l.cells[max(0, min(from, Cap-1))]), n, c.t.last)
}

// prefetchSeps begins to load the keys between which the next leaf has its own.
func (c *Cursor) prefetchSeps() {
	if i, seps := max(c.i-1, 0), int(c.p.n)-1; c.p.keys != nil && i < seps {
		prefetchHeads(unsafe.Pointer(&c.p.keys[i]), min(2, seps-i), 0)
	}
}

// prefetchBehind begins to load the leaf after the next one.
func (c *Cursor) prefetchBehind() {
	i := c.i + 1
	if c.down {
		i = c.i - 1
	}
	if i >= 0 && i < int(c.p.n) {
		prefetchLeaf(c.p.kidAt(i))
	}
}

// ahead begins to load the heads of the leaf that comes next, and the leaf after that.
func (c *Cursor) ahead() {
	c.prefetchBehind()
	l := c.p.leafAt(c.i)
	prefetchHeads(unsafe.Pointer(&l.cells), l.load().usedCount(), c.t.last)
}
