//go:build mvcccheck

package chain

import (
	"fmt"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/debug/invariant"
)

// The invariants of words and chains, evaluated in builds with the tag mvcccheck; see
// package invariant.
//
// Why they hold at every interleaving: a decided word does not change, but for its count; a check
// loads an undecided word after the words that it is compared with, and that word changes only in
// ways that make the comparison safer; the clock only grows.

// PeekState returns the state of v, without a yield point.
func (v *Node) PeekState() Word { return Word(invariant.Peek(unsafe.Pointer(&v.State))) }

// PeekNext returns the version below v, without a yield point.
func (v *Node) PeekNext() *Node {
	return invariant.PeekPointer[Node](unsafe.Pointer(&v.Next))
}

// Peek returns the word that decides about v, as [Resolver.Resolve] does.
func (c *Resolver) Peek(v *Node) Word {
	for {
		w := v.PeekState()
		if !w.Is(KindIndirect) {
			return w
		}
		decides := w.Aborted()
		if r := c.Slots.Record(w.recordNumber()); r != nil {
			decides = Word(invariant.Peek(unsafe.Pointer(r)))
		}
		if v.PeekState() == w {
			return decides
		}
	}
}

// KeyOf returns the key of v, for messages.
func (c *Resolver) KeyOf(v *Node) any { return c.Keys.Boxed(v.Key()) }

// checkStep: the word w may become t; see the diagram in word.go.
func checkStep(w, t Word) {
	ok := false
	switch {
	case w.Is(KindActive):
		ok = t == w+InstallStep || t == w.Announced(t.Epoch(), t&CheckBit) || t.Fixed() || t == w.Aborted()
	case w.Is(KindIndirect):
		ok = t == w.At(t.Epoch())
	case w.Fixed():
		ok = t == w.At(w.Epoch()) || t == w.Aborted()
	case w.Tag() == TagAnnounced:
		// The epoch is drawn after the one that was revoked last.
		ok = t == w.Drawn(t.Epoch()) && t.Epoch() > w.Epoch() || t == w.Aborted()
	case w.Tag() == TagTentative:
		ok = t == w^CheckBit || t == w.At(w.Epoch()) ||
			t == w.Announced(w.Epoch(), CheckBit) || t == w.Aborted()
	}
	if !ok {
		invariant.Violated("a record that says %v is to say %v", w, t)
	}
}

// CheckCopy checks: e, which is to be copied into v, is the commit epoch of its record.
func (c *Resolver) CheckCopy(v *Node, e epoch.Epoch) {
	w := v.PeekState()
	checkStep(w, w.At(e))
	if r := c.Peek(v); !r.Committed() || r.Epoch() != e {
		invariant.Violated("epoch %d is copied into a version whose record says %v", e, r)
	}
}

// CheckLink checks: I5, the version below v is committed, and older than v.
func (c *Resolver) CheckLink(v *Node) {
	n := v.PeekNext()
	if n == nil {
		return
	}
	// Below first: the state of v now holds for the time since it was installed.
	below, above := c.Peek(n), c.Peek(v)
	e := below.Epoch()
	ok := below.Committed() && e > epoch.First && e <= c.Slots.PeekNow() &&
		c.Keys.Equal(n.Key(), v.Key())
	switch above.Tag() {
	case TagCommitted, TagTentative:
		ok = ok && e < above.Epoch()
	case TagAnnounced: // a transaction with one key has no floor before it is revoked
	default:
		ok = ok && !above.Is(KindMark)
	}
	if !ok {
		invariant.Violated("I5: key %v: %v is above %v in the chain of %v; the clock stands at %d",
			c.KeyOf(v), above, below, c.KeyOf(n), c.Slots.PeekNow())
	}
}

// CheckOnTop checks that h, on which v is to be put, is a decided head, and that base, which will
// be below v, is the newest committed version.
func (c *Resolver) CheckOnTop(h, base, v *Node) {
	w := c.Peek(h)
	ok := w.Committed() && base == h || w.Is(KindAborted) && (base == nil || c.Peek(base).Committed())
	if p := c.Peek(v); !ok || p.Committed() || v == h || v == base || !c.Keys.Equal(h.Key(), v.Key()) {
		invariant.Violated("I5: key %v: %v is installed on %v of key %v, base %p", c.KeyOf(v),
			p, w, c.KeyOf(h), base)
	}
}

// CheckNewest checks: v was committed, and says so itself.
func (c *Resolver) CheckNewest(v *Node) {
	w := v.PeekState()
	if now := c.Slots.PeekNow(); !w.Committed() || w.Epoch() <= epoch.First || w.Epoch() > now {
		invariant.Violated("key %v: %v has been committed, the clock stands at %d", c.KeyOf(v), w, now)
	}
	c.CheckLink(v)
}

// CheckCut checks: the versions from first down to n, exclusively, may be dropped from
// below cur: no live epoch of view, none at or above its bound, sees any of them. The
// dropped versions are noted in cur.
func (c *Resolver) CheckCut(cur, first, n *Node, view *gc.View) {
	above, floor := c.Peek(cur).Epoch(), epoch.Epoch(0)
	if n != nil {
		floor = c.Peek(n).Epoch()
	}
	for d := first; d != nil; {
		w := c.Peek(d)
		if d == n || w.Committed() && w.Epoch() <= floor {
			break // the second condition: another pruner has dropped n meanwhile
		}
		ok := w.Committed() && above <= view.Bound
		if at, _ := view.Below(above); at >= w.Epoch() {
			ok = false
		}
		if !ok {
			invariant.Violated("key %v: %v is dropped from below %d; bound %d, live %v",
				c.KeyOf(cur), w, above, view.Bound, view.Live())
		}
		cur.Lost.Lower(uint64(w.Epoch()))
		// The versions that were dropped from below d are dropped from below cur now. The link of d
		// is loaded before d.Lost: a goroutine lowers Lost before it changes the link.
		next := d.PeekNext()
		if lost := d.Lost.Load(); lost > uint64(floor) {
			cur.Lost.Lower(lost)
		}
		d = next
	}
}

// CheckRemove checks: the key of h may leave the index, since h, its head, is a committed tombstone
// with nothing below, and every transaction that may write sees h.
func (c *Resolver) CheckRemove(h *Node) {
	w := c.Peek(h)
	if !w.Committed() || !h.PeekState().Tomb() || h.PeekNext() != nil {
		invariant.Violated("key %v: %v is to leave the index, with more below: %v", c.KeyOf(h), w,
			h.PeekNext() != nil)
	}
	c.Slots.CheckNoneBelow(w.Epoch(), true,
		fmt.Sprintf("the tombstone with which key %v leaves the index", c.KeyOf(h)))
}

// Describe returns the state of v in words, or "nothing".
func (c *Resolver) Describe(v *Node) string {
	if v == nil {
		return "nothing"
	}
	return c.Peek(v).String()
}

// CheckNewestBegin returns the version below h, or nil if h has been committed meanwhile. While h
// was undecided or aborted, the returned version was the newest committed one.
func (c *Resolver) CheckNewestBegin(h *Node) (before *Node) {
	before = h.PeekNext()
	if c.Peek(h).Committed() {
		return nil // it may have been cut off
	}
	return before
}

// CheckNewestEnd checks: v is not older than before.
func (c *Resolver) CheckNewestEnd(before, v *Node) {
	if before == nil || v == nil && before.PeekState().Tomb() {
		return
	}
	if v == nil || c.Peek(v).Epoch() < c.Peek(before).Epoch() {
		invariant.Violated("key %v: %s is read, when the newest had been %s", c.KeyOf(before),
			c.Describe(v), c.Describe(before))
	}
}
