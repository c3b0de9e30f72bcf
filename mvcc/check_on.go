//go:build mvcccheck

package mvcc

import (
	"fmt"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/invariant"
	"github.com/mvccmap/mvccmap/internal/tree"
)

// The invariants of words and chains, evaluated in builds with the tag mvcccheck; see
// package invariant. Those of reads and commits are in check_tx_on.go.
//
// Why they are true at every interleaving: a decided word stays what it is, but
// for its count; an undecided one is looked at after what is compared with it, and
// changes only in ways that make the comparison safer; the clock only grows.

func (v *node) peekState() word { return word(invariant.Peek(unsafe.Pointer(&v.state))) }

func (v *node) peekNext() *node {
	return invariant.PeekPointer[node](unsafe.Pointer(&v.next))
}

// peek returns the word that decides about v, as [chains.resolve] does.
func (c *chains) peek(v *node) word {
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

// peekHead returns the head of key, if it has one, without a yield point: see find.
func (x *index) peekHead(key unsafe.Pointer) *node {
	if x.tree != nil {
		return nodeOf(treeOf(x).Peek(key))
	}
	h := x.hash.sum(key)
	t := x.table.Load()
	for marked := false; ; {
		first := t.bucket(h)
		if first.meta.Load()&bucketMoved == 0 {
			v, mark := x.peekIn(first, key)
			if v != nil || !mark {
				return v
			}
			if !marked {
				marked = true
				continue
			}
		}
		t, marked = x.after(t), false
	}
}

func (x *index) peekIn(b *bucket, key unsafe.Pointer) (head *node, marked bool) {
	for ; b != nil; b = b.after() {
		for i := range b.cells {
			switch v := rawLoad(&b.cells[i]); {
			case v == x.moved:
				marked = true
			case v != nil && x.hash.equal(v.key(), key):
				return v, false
			}
		}
	}
	return nil, marked
}

// peekAll calls f for heads in the index, without a yield point: for all, unless the
// table is being resized.
func (x *index) peekAll(f func(h *node)) {
	if x.tree != nil {
		treeOf(x).PeekAll(func(h *tree.Head) { f(nodeOf(h)) })
		return
	}
	for t := x.table.Load(); t != nil; t = t.next.Load() {
		for i := range t.buckets {
			for b := &t.buckets[i]; b != nil; b = b.after() {
				for j := range b.cells {
					if v := rawLoad(&b.cells[j]); x.head(v) {
						f(v)
					}
				}
			}
		}
	}
}

// keyOf returns the key of v, for messages.
func (c *chains) keyOf(v *node) any { return c.index.hash.boxed(v.key()) }

// checkStep: the word w may become t; see the diagram in version.go.
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
func (c *chains) checkCopy(v *node, e epoch.Epoch) {
	w := v.peekState()
	checkStep(w, w.at(e))
	if r := c.peek(v); !r.committed() || r.epoch() != e {
		invariant.Violated("epoch %d is copied into a version whose record says %v", e, r)
	}
}

// checkLink: I5, the version below v is committed, and older than v.
func (c *chains) checkLink(v *node) {
	n := v.peekNext()
	if n == nil {
		return
	}
	// Below first: what v says now it says of the time since it was installed.
	below, above := c.peek(n), c.peek(v)
	e := below.epoch()
	ok := below.committed() && e > epoch.First && e <= c.slots.PeekNow() && c.index.hash.same(n, v)
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
func (c *chains) checkOnTop(h, base, v *node) {
	w := c.peek(h)
	ok := w.committed() && base == h || w.is(kindAborted) && (base == nil || c.peek(base).committed())
	if p := c.peek(v); !ok || p.committed() || v == h || v == base || !c.index.hash.same(h, v) {
		invariant.Violated("I5: key %v: %v is installed on %v of key %v, base %p", c.keyOf(v),
			p, w, c.keyOf(h), base)
	}
}

// checkNewest: v was committed, and says so itself.
func (c *chains) checkNewest(v *node) {
	w := v.peekState()
	if now := c.slots.PeekNow(); !w.committed() || w.epoch() <= epoch.First || w.epoch() > now {
		invariant.Violated("key %v: %v has been committed, the clock stands at %d", c.keyOf(v), w, now)
	}
	c.checkLink(v)
}

// checkCut: the versions from first down to n, exclusively, may be dropped from
// below cur: no live epoch of view, none at or above its bound, sees any of them.
// What is dropped is noted in cur.
func (c *chains) checkCut(cur, first, n *node, view *gc.View) {
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
func (c *chains) checkRemove(h *node) {
	w := c.peek(h)
	if !w.committed() || !h.peekState().tomb() || h.peekNext() != nil {
		invariant.Violated("key %v: %v is to leave the index, with more below: %v", c.keyOf(h), w,
			h.peekNext() != nil)
	}
	c.slots.CheckNoneBelow(w.epoch(), true,
		fmt.Sprintf("the tombstone with which key %v leaves the index", c.keyOf(h)))
}
