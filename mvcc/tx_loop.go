package mvcc

import (
	"runtime"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
	"github.com/mvccmap/mvccmap/internal/engine/tree"
)

// scanAll is [Tx.All].
//
//go:noinline
func (tx DBTx) scanAll(c *chunk, visit func() bool) {
	tx.check()
	p := partOf(tx.st)
	st := p.st
	at := st.epoch()
	st.enter()
	st.hasRead, st.beyond = true, true
	p.rare().scanned, st.rare().looped = true, true
	// From here on put makes new versions: so writes in the loop do not change versions that the
	// loop has still to visit.
	mine, own := p.ownRecords(), len(st.writes)
	st.leave()
	c.moment = moment(tx)
	for _, w := range mine {
		v := w.v
		if w.merge != nil {
			v = tx.merged(w.v, w.merge, at)
		}
		if v.There() && !c.giveOne(v, visit) {
			return
		}
		tx.check()
	}
	left := false
	p.index.Scan(func(_ index.Place, head *chain.Node) bool {
		v := p.m.Visible(head, at)
		p.checkRead(tx.gen, head.Key(), v)
		tx.check()
		if !v.There() {
			return true
		}
		if len(mine) > 0 {
			if i := p.find(head.Key()); i >= 0 && i < own {
				return true
			}
		}
		left = !c.giveOne(v, visit)
		return !left
	})
	if !left {
		tx.check()
	}
	runtime.KeepAlive(st)
}

// countKeys is [Tx.Len].
//
//go:noinline
func (tx DBTx) countKeys() int {
	tx.check()
	p := partOf(tx.st)
	at := p.st.epoch()
	if !p.counted {
		n := moment(tx).len()
		p.st.enterAgain(tx.gen)
		p.st.hasRead, p.st.beyond = true, true
		rare := p.rare()
		rare.counted, rare.seen = true, n
		p.st.leave()
	}
	n := p.seen
	for _, w := range p.ownRecords() {
		v := w.v
		_, _, head := p.index.Seek(v.Key()) // which may call a function of the user that compares keys
		n += chain.Growth(p.m.Visible(head, at), v)
	}
	tx.check()
	return n
}

// ranged is [Tx.Ascend], or [Tx.Descend], for the keys of r, or all if r is nil.
//
//go:noinline
func (tx DBTx) ranged(c *chunk, r *span, down bool, visit func() bool) {
	tx.check()
	p := partOf(tx.st)
	l := txLoop{tx: tx, order: p.m.order, r: r, down: down, at: p.st.epoch(), noted: -1}
	c.moment = moment(tx)
	l.begin()
	for again := true; again; again = l.goOn(c) {
		leaf, left := index.CursorIn(p.index, l.rest, down), false
		for !left && !l.nothing && leaf.Next() {
			l.note(&leaf)
			for h, at := leaf.Head(); h != nil && !left; h, at = leaf.Head() {
				left = !l.visit(at, index.NodeOf(h), c, visit)
			}
		}
		if !left && l.before(nil, c, visit) {
			tx.check()
			l.noteTo(nil)
		}
	}
	l.own.end()
	runtime.KeepAlive(tx.st)
}

// goOn reports whether a loop that was left goes on, at c.jump. The keys that the loop jumps over
// have not been read.
func (l *txLoop) goOn(c *chunk) bool {
	if c.jump == nil {
		return false
	}
	l.r, l.rest, c.jump, l.noted = c.jump, c.jump, nil, -1
	for w := l.own.first(); w != nil && l.order.Side(l.r, w.v.Key()) < 0; w = l.own.first() {
		l.own.pop()
	}
	return true
}

// end returns the version for [Tx.Min], or [Tx.Max] if last is set; nil if there are no keys.
//
//go:noinline
func (tx DBTx) end(last bool) (found *chain.Node) {
	tx.check()
	partOf(tx.st).m.checkOrdered(false)
	return tx.endOf(nil, last)
}

// endOf is end for the keys of r.
func (tx DBTx) endOf(r *span, last bool) *chain.Node {
	var c chunk
	tx.ranged(&c, r, last, func() bool { return false })
	return c.found[0]
}

// A txLoop is a loop over a range of keys in a transaction.
type txLoop struct {
	tx      DBTx
	order   *order
	r       *span
	rest    *span // the part of r behind a gap, unless nothing is set
	nothing bool
	passed  int  // how many keys had no value, before the first that has one
	met     bool // a key with a value was met
	down    bool
	at      epoch.Epoch
	noted   int // the number of the range gone through, in the read set, or -1
	merges  int // see rarePart
	leaf    int // the number of the note of the present leaf
	own     *ownRest
}

// begin finds the own writes.
func (l *txLoop) begin() {
	st := stateOf(l.tx.st)
	st.enter()
	defer st.leave() // compare may panic
	st.hasRead, st.beyond = true, true
	st.rare().looped = true
	p := partOf(l.tx.st)
	p.closeGaps()
	rest, ok := p.behindGap(l.r, l.down)
	if l.rest, l.nothing = rest, !ok; ok {
		l.own = p.ownWrites(rest, l.down)
	}
}

// visit visits the own writes that come before a key of the map, and then the key.
func (l *txLoop) visit(at tree.Place, head *chain.Node, c *chunk, visit func() bool) bool {
	p := partOf(l.tx.st)
	if w := chain.Load(&head.State); !w.Committed() || w.Epoch() > l.at {
		p.rare().again = true
	} else if l.leaf < len(p.notes) {
		p.notes[l.leaf].Add(at, index.HeadOf(head))
	}
	v := p.m.Visible(head, l.at)
	p.checkRead(l.tx.gen, head.Key(), v)
	l.tx.check()
	if !l.before(head, c, visit) {
		return false
	}
	if w := l.own.first(); w != nil && p.index.Hash.Equal(w.v.Key(), head.Key()) {
		return l.one(l.own.pop(), c, visit)
	}
	l.passed++
	return !v.There() || l.give(v, c, visit)
}

// note begins a note of the leaf that the loop has come to.
func (l *txLoop) note(c *tree.Cursor) {
	p := partOf(l.tx.st)
	if p.st.level != LevelSerializable || p.again {
		l.leaf = maxNotes
		return
	}
	n, rare := c.Note(), p.rare()
	l.leaf = len(rare.notes)
	switch last := l.leaf - 1; {
	case last >= 0 && rare.notes[last].Of(&n): // as when the first key is taken again and again
		l.leaf = last
	case l.leaf == maxNotes:
		rare.again, rare.notes = true, emptied(rare.notes)
	default:
		rare.notes = append(rare.notes, n)
	}
}

// maxNotes is the most leaves of each map of which a transaction takes notes.
const maxNotes = 1 << 16

// before visits the own writes that come before the key of head, or all if head is nil.
func (l *txLoop) before(head *chain.Node, c *chunk, visit func() bool) bool {
	var key unsafe.Pointer // of head, if any: a nil head would give a bad pointer
	if head != nil {
		key = head.Key()
	}
	for w := l.own.first(); w != nil; w = l.own.first() {
		if key != nil {
			if n := l.order.Compare(w.v.Key(), key); n == 0 || (n > 0) != l.down {
				return true
			}
		}
		if !l.one(l.own.pop(), c, visit) {
			return false
		}
	}
	return true
}

// one visits an own write.
func (l *txLoop) one(w ownRecord, c *chunk, visit func() bool) bool {
	v := w.v
	if w.merge != nil {
		l.noteTo(v) // the merge is a read, even if it panics
		v = l.tx.merged(w.v, w.merge, l.at)
	}
	l.passed++
	return !v.There() || l.give(v, c, visit)
}

func (l *txLoop) give(v *chain.Node, c *chunk, visit func() bool) bool {
	l.noteTo(v)
	if !c.giveOne(v, visit) {
		return false
	}
	l.tx.check()
	return true
}

// giveOne has v visited, alone.
func (c *chunk) giveOne(v *chain.Node, visit func() bool) (goOn bool) {
	c.n, c.found[0] = 1, v
	return visit()
}

// noteTo notes that the loop has gone through its range up to the key of v, the last one that it
// has met, or through all if v is nil.
func (l *txLoop) noteTo(v *chain.Node) {
	p := partOf(l.tx.st)
	st := p.st
	gap := !l.met && l.passed >= fewPassed
	if l.met = true; st.level != LevelSerializable && !gap {
		return
	}
	st.enter()
	defer st.leave() // compare may panic
	if gap {
		p.addGap(l.part(v, true))
	}
	if st.level != LevelSerializable {
		return
	}
	if l.merges != p.merges {
		l.merges, l.noted = p.merges, -1
	}
	ranges, noted := p.m.order.gone(p.ranges, l.noted, l.part(v, false))
	l.noted = noted
	if len(ranges) > len(p.ranges) {
		p.rare().ranges = ranges
		if len(ranges) >= max(fewRanges, p.fullRanges) {
			p.mergeRanges()
			p.fullRanges = compactFactor * len(p.ranges)
		}
	}
}

// part returns the range up to the key of v, without this key if so said; or all if v is nil.
func (l *txLoop) part(v *chain.Node, without bool) (s span) {
	if l.r != nil {
		s = *l.r
	}
	switch {
	case v == nil:
	case l.down:
		s.Low, s.LowExclusive = v.Key(), without
	default:
		s.High, s.HighExclusive = v.Key(), without
	}
	return s
}

// fewRanges is the number of ranges below which they are not joined.
const fewRanges = 64

// mergeRanges joins the ranges that touch: so the commit goes along no key twice.
func (p *part) mergeRanges() {
	if len(p.ranges) > 1 {
		p.merges++
		p.ranges = p.m.order.merged(p.ranges)
	}
}
