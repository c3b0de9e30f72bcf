package mvcc

import (
	"fmt"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// The invariants of words, chains and entries, evaluated in builds with the tag
// mvccinvariants; see package invariant. Those of reads and commits are in
// invariant_tx.go.
//
// Why they are true at every interleaving: a decided word stays what it is, but
// for its count; an undecided one is looked at after what is compared with it, and
// changes only in ways that make the comparison safer; the clock only grows.

// peekState returns the word that decides about v, as [version.resolve] does.
func (v *version[V]) peekState() uint64 {
	for {
		s := invariant.Peek(unsafe.Pointer(&v.state))
		if !isKind(s, kindIndirect) {
			return s
		}
		if rec := invariant.PeekPointer[atomic.Uint64](unsafe.Pointer(&v.rec)); rec != nil {
			return invariant.Peek(unsafe.Pointer(rec))
		}
		v.checkFinal()
	}
}

func (v *version[V]) peekTombstone() bool {
	return invariant.Peek(unsafe.Pointer(&v.state))&tombBit != 0
}

func (v *version[V]) peekNext() *version[V] {
	return invariant.PeekPointer[version[V]](unsafe.Pointer(&v.next))
}

func (e *entry[K, V]) peekHead() *version[V] {
	return invariant.PeekPointer[version[V]](unsafe.Pointer(&e.head))
}

// checkFinal: an indirect version has a record until it carries the commit epoch
// itself. v.rec was nil.
func (v *version[V]) checkFinal() {
	if s := invariant.Peek(unsafe.Pointer(&v.state)); isKind(s, kindIndirect) {
		invariant.Violated("a version says %v, and has lost its record", word(s))
	}
}

// checkStep: the state word s may become t; see the diagram in version.go.
func checkStep(s, t uint64) {
	ok := false
	switch {
	case isKind(s, kindActive):
		ok = t == s+installStep || t == announcedWord(s, 0, t&checkBit) || t == abortedWord(s)
	case isKind(s, kindIndirect):
		ok = t == committedWord(s, epochOf(t))
	case tag(s) == tagAnnounced:
		// The epoch is drawn after the one that was revoked last.
		ok = t == decidedWord(s, epochOf(t)) && epochOf(t) > epochOf(s) || t == abortedWord(s)
	case tag(s) == tagTentative:
		ok = t == s^checkBit || t == committedWord(s, epochOf(s)) ||
			t == announcedWord(s, epochOf(s), checkBit) || t == abortedWord(s)
	}
	if !ok {
		invariant.Violated("a record that says %v is to say %v", word(s), word(t))
	}
}

// checkCopy: e, which is to be copied into v, is the commit epoch of its record.
func (v *version[V]) checkCopy(e uint64) {
	s := invariant.Peek(unsafe.Pointer(&v.state))
	checkStep(s, committedWord(s, e))
	if r := v.peekState(); !committed(r) || epochOf(r) != e {
		invariant.Violated("epoch %d is copied into a version whose record says %v", e, word(r))
	}
}

// checkLink: I5, the version below v is committed, and older than v.
func (c core[K, V]) checkLink(key K, v *version[V]) {
	n := v.peekNext()
	if n == nil {
		return
	}
	// Below first: what v says now it says of the time since it was installed.
	below, above := n.peekState(), v.peekState()
	e := epochOf(below)
	ok := committed(below) && e > epoch.First && e <= c.slots.PeekNow()
	switch tag(above) {
	case tagCommitted, tagTentative:
		ok = ok && e < epochOf(above)
	case tagAnnounced: // the epoch is the one revoked last, or 0
		ok = ok && (epochOf(above) == 0 || e < epochOf(above))
	default:
		ok = ok && !isKind(above, kindDead)
	}
	if !ok {
		invariant.Violated("I5: key %v: %v is above %v in the chain; the clock stands at %d",
			key, word(above), word(below), c.slots.PeekNow())
	}
}

// checkPush: v is to be put on h, a decided head that may be nil, with base below
// it, the newest committed version.
func (c core[K, V]) checkPush(e *entry[K, V], h, base, v *version[V]) {
	var s uint64
	ok := base == nil
	if h != nil {
		s = h.peekState()
		ok = committed(s) && base == h || isKind(s, kindAborted) && (base == nil || committed(base.peekState()))
	}
	if p := v.peekState(); !ok || committed(p) || v == h || v == base {
		invariant.Violated("I5: key %v: %v is installed on %v (none: %v), base %p", e.key, word(p), word(s), h == nil, base)
	}
}

// checkNewest: v was committed on e, and says so itself.
func (c core[K, V]) checkNewest(e *entry[K, V], v *version[V]) {
	s := invariant.Peek(unsafe.Pointer(&v.state))
	if now := c.slots.PeekNow(); !committed(s) || epochOf(s) <= epoch.First || epochOf(s) > now {
		invariant.Violated("key %v: %v has been committed, the clock stands at %d", e.key, word(s), now)
	}
	c.checkLink(e.key, v)
}

// checkCut: the versions from first down to n, exclusively, may be dropped from
// below cur: no live epoch of view, none at or above its bound, sees any of them.
// What is dropped is noted in cur.
func (c core[K, V]) checkCut(e *entry[K, V], cur, first, n *version[V], view *gc.View) {
	above, floor := epochOf(cur.peekState()), uint64(0)
	if n != nil {
		floor = epochOf(n.peekState())
	}
	for d := first; d != nil; {
		s := d.peekState()
		if d == n || committed(s) && epochOf(s) <= floor {
			break // the second: another pruner has dropped n meanwhile
		}
		ok := committed(s) && above <= view.Bound
		if at, _ := view.Below(above); at >= epochOf(s) {
			ok = false
		}
		if !ok {
			invariant.Violated("key %v: %v is dropped from below %d; bound %d, live %v",
				e.key, word(s), above, view.Bound, view.Live())
		}
		cur.lost.Lower(epochOf(s))
		// What was dropped from below d before is dropped from below cur now. The
		// link first: who changes it has noted before what it drops.
		next := d.peekNext()
		if lost := d.lost.Load(); lost > floor {
			cur.lost.Lower(lost)
		}
		d = next
	}
}

// checkBury: nobody sees anything of e any more: h is nil, or a committed
// tombstone with nothing below, that every transaction sees which may write.
func (c core[K, V]) checkBury(e *entry[K, V], h *version[V]) {
	if h == nil {
		return
	}
	s := h.peekState()
	if !committed(s) || !h.peekTombstone() || h.peekNext() != nil {
		invariant.Violated("key %v: %v is declared dead, with more below: %v", e.key, word(s), h.peekNext() != nil)
	}
	c.slots.CheckNoneBelow(epochOf(s), true, fmt.Sprintf("the tombstone with which key %v leaves the index", e.key))
}

// checkDead: an entry that leaves the index is dead, and stays so.
func (c core[K, V]) checkDead(e *entry[K, V]) {
	if e.peekHead() != c.dead {
		invariant.Violated("key %v is taken out of the index alive", e.key)
	}
}

// check: the index maps key to an entry made for key.
func (e *entry[K, V]) check(key K) {
	if e != nil && e.key != key {
		invariant.Violated("the index maps key %v to the entry of key %v", key, e.key)
	}
}

// A word is a state word in readable form.
type word uint64

// String returns the tag, with epoch and bits.
func (w word) String() string {
	s := uint64(w)
	var text string
	switch tag(s) {
	case tagCommitted:
		text = fmt.Sprintf("committed(%d)", epochOf(s))
	case tagAnnounced:
		text = fmt.Sprintf("announced(%d)", epochOf(s))
	case tagTentative:
		text = fmt.Sprintf("tentative(%d)", epochOf(s))
	default:
		text = [...]string{"active", "aborted", "indirect", "dead"}[epochOf(s)&kindMask]
		if n := epochOf(s) >> kindBits; n > 0 {
			text += fmt.Sprintf("(%d)", n)
		}
	}
	if s&checkBit != 0 {
		text += "+check"
	}
	if s&tombBit != 0 {
		text += "+tombstone"
	}
	if n := s & countMask >> countShift; n > 0 {
		text += fmt.Sprintf("+count=%d", n)
	}
	return text
}
