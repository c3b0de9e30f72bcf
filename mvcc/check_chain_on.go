//go:build mvcccheck

package mvcc

import (
	"fmt"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// The invariants of words and chains, evaluated in builds with the tag mvcccheck; see
// package invariant.
//
// Why they are true at every interleaving: a decided word stays what it is, but
// for its count; an undecided one is looked at after what is compared with it, and
// changes only in ways that make the comparison safer; the clock only grows.

func (v *node) peekState() word { return word(invariant.Peek(unsafe.Pointer(&v.state))) }

func (v *node) peekNext() *node {
	return invariant.PeekPointer[node](unsafe.Pointer(&v.next))
}

// peek returns the word that decides about v, as [resolver.resolve] does.
func (c *resolver) peek(v *node) word {
	for {
		w := v.peekState()
		if !w.is(kindIndirect) {
			return w
		}
		decides := w.aborted()
		if r := c.slots.Record(w.recordNumber()); r != nil {
			decides = word(invariant.Peek(unsafe.Pointer(r)))
		}
		if v.peekState() == w {
			return decides
		}
	}
}

// keyOf returns the key of v, for messages.
func (c *resolver) keyOf(v *node) any { return c.keys.boxed(v.key()) }

// checkStep: the word w may become t; see the diagram in word.go.
func checkStep(w, t word) {
	ok := false
	switch {
	case w.is(kindActive):
		ok = t == w+installStep || t == w.announced(t.epoch(), t&checkBit) || t == w.aborted()
	case w.is(kindIndirect):
		ok = t == w.at(t.epoch())
	case w.tag() == tagAnnounced:
		// The epoch is drawn after the one that was revoked last.
		ok = t == w.drawn(t.epoch()) && t.epoch() > w.epoch() || t == w.aborted()
	case w.tag() == tagTentative:
		ok = t == w^checkBit || t == w.at(w.epoch()) ||
			t == w.announced(w.epoch(), checkBit) || t == w.aborted()
	}
	if !ok {
		invariant.Violated("a record that says %v is to say %v", w, t)
	}
}

// checkCopy: e, which is to be copied into v, is the commit epoch of its record.
func (c *resolver) checkCopy(v *node, e epoch.Epoch) {
	w := v.peekState()
	checkStep(w, w.at(e))
	if r := c.peek(v); !r.committed() || r.epoch() != e {
		invariant.Violated("epoch %d is copied into a version whose record says %v", e, r)
	}
}

// checkLink: I5, the version below v is committed, and older than v.
func (c *resolver) checkLink(v *node) {
	n := v.peekNext()
	if n == nil {
		return
	}
	// Below first: what v says now it says of the time since it was installed.
	below, above := c.peek(n), c.peek(v)
	e := below.epoch()
	ok := below.committed() && e > epoch.First && e <= c.slots.PeekNow() && c.keys.equal(n.key(), v.key())
	switch above.tag() {
	case tagCommitted, tagTentative:
		ok = ok && e < above.epoch()
	case tagAnnounced: // a transaction with one key has no floor before it is revoked
	default:
		ok = ok && !above.is(kindMark)
	}
	if !ok {
		invariant.Violated("I5: key %v: %v is above %v in the chain of %v; the clock stands at %d",
			c.keyOf(v), above, below, c.keyOf(n), c.slots.PeekNow())
	}
}

// checkOnTop: v is to be put on h, a decided head, with base below
// it, the newest committed version.
func (c *resolver) checkOnTop(h, base, v *node) {
	w := c.peek(h)
	ok := w.committed() && base == h || w.is(kindAborted) && (base == nil || c.peek(base).committed())
	if p := c.peek(v); !ok || p.committed() || v == h || v == base || !c.keys.equal(h.key(), v.key()) {
		invariant.Violated("I5: key %v: %v is installed on %v of key %v, base %p", c.keyOf(v),
			p, w, c.keyOf(h), base)
	}
}

// checkNewest: v was committed, and says so itself.
func (c *resolver) checkNewest(v *node) {
	w := v.peekState()
	if now := c.slots.PeekNow(); !w.committed() || w.epoch() <= epoch.First || w.epoch() > now {
		invariant.Violated("key %v: %v has been committed, the clock stands at %d", c.keyOf(v), w, now)
	}
	c.checkLink(v)
}

// checkCut: the versions from first down to n, exclusively, may be dropped from
// below cur: no live epoch of view, none at or above its bound, sees any of them.
// What is dropped is noted in cur.
func (c *resolver) checkCut(cur, first, n *node, view *gc.View) {
	above, floor := c.peek(cur).epoch(), epoch.Epoch(0)
	if n != nil {
		floor = c.peek(n).epoch()
	}
	for d := first; d != nil; {
		w := c.peek(d)
		if d == n || w.committed() && w.epoch() <= floor {
			break // the second: another pruner has dropped n meanwhile
		}
		ok := w.committed() && above <= view.Bound
		if at, _ := view.Below(above); at >= w.epoch() {
			ok = false
		}
		if !ok {
			invariant.Violated("key %v: %v is dropped from below %d; bound %d, live %v",
				c.keyOf(cur), w, above, view.Bound, view.Live())
		}
		cur.lost.Lower(uint64(w.epoch()))
		// What was dropped from below d before is dropped from below cur now. The
		// link first: a goroutine that changes it has noted before what it drops.
		next := d.peekNext()
		if lost := d.lost.Load(); lost > uint64(floor) {
			cur.lost.Lower(lost)
		}
		d = next
	}
}

// checkRemove: nobody sees anything of a key any more: h, its head, is a committed
// tombstone with nothing below, that every transaction sees which may write.
func (c *resolver) checkRemove(h *node) {
	w := c.peek(h)
	if !w.committed() || !h.peekState().tomb() || h.peekNext() != nil {
		invariant.Violated("key %v: %v is to leave the index, with more below: %v", c.keyOf(h), w,
			h.peekNext() != nil)
	}
	c.slots.CheckNoneBelow(w.epoch(), true,
		fmt.Sprintf("the tombstone with which key %v leaves the index", c.keyOf(h)))
}

// describe returns what v says, or "nothing".
func (c *resolver) describe(v *node) string {
	if v == nil {
		return "nothing"
	}
	return c.peek(v).String()
}

// checkNewestBegin returns what was the newest version when h, which was not committed a
// moment ago, was the head; nil if that is not known.
func (c *resolver) checkNewestBegin(h *node) (before *node) {
	before = h.peekNext()
	if c.peek(h).committed() {
		return nil // it may have been cut off
	}
	return before
}

// checkNewestEnd: v is not older than before.
func (c *resolver) checkNewestEnd(before, v *node) {
	if before == nil || v == nil && before.peekState().tomb() {
		return
	}
	if v == nil || c.peek(v).epoch() < c.peek(before).epoch() {
		invariant.Violated("key %v: %s is read, when the newest had been %s", c.keyOf(before), c.describe(v),
			c.describe(before))
	}
}
