//go:build mvcccheck

package epoch

import (
	"math/rand/v2"
	"slices"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/debug/invariant"
)

// The invariants of clock, bound and slots, evaluated in builds with the tag mvcccheck; see package
// invariant. Here a transaction counts as live once its Begin has checked the bound: until then
// Begin may give its epoch up.

// peekWord loads a shared word without a yield point.
func peekWord(word *atomic.Uint64) uint64 { return invariant.Peek(unsafe.Pointer(word)) }

func (s *Slots) checkView(v *View) { s.CheckView(v) }

func (slot *Slot) peekGen() Gen { return Gen(peekWord(&slot.gen)) }

func (s *Slots) peekBound() Epoch { return Epoch(peekWord(&s.bound)) }

// standing returns the epoch of the transaction that is live in the slot, if there is one and its
// Begin has returned, or is about to.
func (slot *Slot) standing() (epoch Epoch, ok bool) {
	gen := slot.peekGen()
	begun := Gen(slot.begun.Load())
	word := peekWord(&slot.word)
	// Only Begin writes the word. If begun is gen, Begin writes it again only for later
	// generations: so if gen is the same at the end, the word has not changed in between.
	return epochIn(word), begun == gen && slot.peekGen() == gen && slot.isLive(word, gen)
}

// CheckLive panics unless the transaction gen is live in the slot. The caller is
// the only one that may end it.
func (slot *Slot) CheckLive(gen Gen) {
	_, ok := slot.standing()
	// The generation is loaded last: another goroutine may evict it at any time.
	if now := slot.peekGen(); (!ok || now != gen) && now != (gen+1)|evictedBit {
		invariant.Violated("transaction %d is used, but it is not live: generation %d, begun %d, word "+
			"of epoch %d",
			gen, peekWord(&slot.gen), slot.begun.Load(), peekWord(&slot.word)>>epochShift)
	}
}

// checkBegin: the slot belongs to the caller, and nothing is live in it.
func (slot *Slot) checkBegin() {
	if epoch, ok := slot.standing(); ok {
		invariant.Violated("begin in a slot whose transaction %d, of epoch %d, has not ended",
			peekWord(&slot.gen), epoch)
	}
	if slot.released.Load() {
		invariant.Violated("begin in a slot that nobody owns")
	}
	if peekWord(&slot.promoted) == left || peekWord(&slot.group.scan)&slot.groupBit() == 0 {
		invariant.Violated("begin in slot %d, at which scans do not look", slot.number)
	}
}

// checkBegun: the read epoch published is one that the clock has reached.
func (s *Slots) checkBegun(slot *Slot, now Epoch) {
	if e := epochIn(peekWord(&slot.word)); e != now || e < First || e > s.PeekNow() {
		invariant.Violated("a transaction that begins at %d publishes %d; the clock stands at %d", now,
			e, peekWord(&s.clock))
	}
	slot.begun.Store(peekWord(&slot.gen))
}

// CheckBegun panics if gen is the slot's generation and has not begun.
func (slot *Slot) CheckBegun(gen Gen) {
	// begun must be loaded first: Begin sets it before anybody has gen to end, and it stays until
	// gen has moved on.
	if begun := Gen(slot.begun.Load()); begun != gen && slot.peekGen() == gen {
		invariant.Violated("transaction %d is used, but has not begun: the slot's last one was %d", gen,
			begun)
	}
}

// checkAnnounced: the bound only grows, and the clock is never behind it.
func (s *Slots) checkAnnounced(m Epoch) {
	b := s.peekBound()
	if now := s.PeekNow(); b < m || b > now {
		invariant.Violated("the bound is %d after %d was announced; the clock stands at %d", b, m, now)
	}
}

// checkScan: I6, the bound is stored before the slots are scanned.
func (s *Slots) checkScan(m Epoch) {
	if b := s.peekBound(); b < m {
		invariant.Violated("I6: the slots are scanned below %d while the bound is %d", m, b)
	}
}

// CheckView panics unless the view is well formed and I1 holds of it, at any time after it was
// made: a live transaction reads at an epoch in the view, or at the bound or above; and one that
// may write reads at v.Writers or above.
func (s *Slots) CheckView(v *View) {
	for _, list := range [][]Epoch{v.young, v.old} {
		if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) ||
			len(list) > 0 && list[len(list)-1] >= v.Bound {
			invariant.Violated("a view has bound %d and live epochs %v: want them sorted, distinct, below "+
				"the bound", v.Bound, list)
		}
	}
	if b := s.peekBound(); b < v.Bound || v.Writers > v.Bound {
		invariant.Violated("I6: a view has the bound %d, and %d for writers; announced is %d",
			v.Bound, v.Writers, b)
	}
	s.eachStanding(func(e Epoch, writes bool) {
		if e >= v.Bound {
			return
		}
		if at, _ := v.Below(e + 1); at != e {
			invariant.Violated("I1: a transaction reads at %d, and the view does not know: bound %d, live "+
				"%v", e, v.Bound, v.Live())
		}
		if writes && e < v.Writers {
			invariant.Violated("I1: a transaction that may write reads at %d, below %d", e, v.Writers)
		}
	})
}

// CheckNoneBelow panics if a live transaction reads below e. With writers it only looks at
// transactions that may write.
func (s *Slots) CheckNoneBelow(e Epoch, writers bool, why string) {
	s.eachStanding(func(at Epoch, writes bool) {
		if at < e && (writes || !writers) {
			invariant.Violated("I1: a transaction reads at %d, below %d: %s", at, e, why)
		}
	})
}

// eachStanding calls f for every live transaction, with its read epoch and whether it may write.
// With n groups of slots, only one call of eachStanding in n does so.
func (s *Slots) eachStanding(f func(epoch Epoch, writes bool)) {
	// Sampled: with very many slots this would be most of the work.
	if n := len(*s.dir.Load()); n > 1 && rand.IntN(n) != 0 {
		return
	}
	for slot := range s.all {
		word := peekWord(&slot.word)
		if e, ok := slot.standing(); ok && peekWord(&slot.word) == word {
			f(e, word&MayWrite != 0)
		}
	}
}

// checkReleased: nothing is live in a slot that is given up.
func (slot *Slot) checkReleased() {
	if e, ok := slot.standing(); ok {
		invariant.Violated("a slot is released while its transaction %d, of epoch %d, is live",
			peekWord(&slot.gen), e)
	}
}

// check checks that the list of pins is sorted by age, and by epoch unless the list is stirred, and
// that each slot of the list knows its place there.
func (p *pins) check() {
	for i, one := range p.list {
		if i > 0 && (p.list[i-1].Epoch > one.Epoch && !p.stirred || p.list[i-1].Since > one.Since) {
			invariant.Violated("pin %d, of epoch %d, comes after one of epoch %d", i, one.Epoch,
				p.list[i-1].Epoch)
		}
		if !one.dead && int(one.slot.pin) != i+1 {
			invariant.Violated("the slot of pin %d says %d", i, one.slot.pin)
		}
	}
}

// Peek returns the generation and the epoch of the slot, without a yield point.
func (slot *Slot) Peek() (Gen, Epoch) {
	return slot.peekGen(), epochIn(peekWord(&slot.word))
}

// PeekEvicted reports whether the last transaction of the slot was evicted, and its
// owner has not ended it, without a yield point.
func (slot *Slot) PeekEvicted() bool { return peekWord(&slot.gen)&evictedBit != 0 }

// PeekNow returns the newest epoch drawn, without a yield point.
func (s *Slots) PeekNow() Epoch { return Epoch(peekWord(&s.clock)) }
