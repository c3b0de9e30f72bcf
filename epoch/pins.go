package epoch

import (
	"cmp"
	"math/bits"
	"slices"
	"time"
)

// A transaction that two rounds of the reclaimer have found live, and then a third one, is
// promoted: it is entered in a list, its read epoch is published among the old ones, and scans pass
// over its slot. So the cost of a view follows the transactions that have begun lately, and not the
// snapshots that are open for long.
//
// The slot of a promoted transaction is not used again: the goroutine that ends the
// transaction leaves the slot behind, see [Slot.Keep], and the next round takes it
// out of the list and releases it. So the bit that tells scans to look is set by
// Acquire, cleared once, and never set again: nobody can begin in a slot that scans
// pass over.
//
//	round                                     end
//	1  promoted = gen                         a  gen -> gen+1
//	2  gen is still the same, else            b  promoted is gen: CAS to left,
//	   CAS promoted gen -> 0: not promoted,      the slot goes back to the round
//	   or the owner has left it
//	3  publish the epoch as an old one
//	4  clear the bit
//
// If a precedes 2, the round sees that the transaction has ended, and the two compare-and-swaps of
// promoted decide whether the round or the owner has the slot. If 2 precedes a, then 1 precedes a
// too, and b finds the mark.
//
// A goroutine may sleep within Begin for so long that the epoch that it has published, but cannot
// keep, is promoted. Then too either the round sees that the word has changed, or Begin, which
// loads the mark after it has changed the word, finds the mark: it gives up, and its caller begins
// again.

// promoteRounds is how many rounds must have found a transaction live before the round that
// promotes it.
const promoteRounds = 2

// pins are the promoted transactions. Only the caller of Round uses them.
type pins struct {
	round uint64
	bound Epoch // of the last round
	list  []pin // sorted by age, and by epoch too, unless stirred says otherwise
	// stirred: a transaction of the list has begun as of an old epoch, see BeginAt.
	stirred bool
	dead    int // how many of the list have ended
	told    int // how many of the list were looked at for a warning
	gone    uint64
	fresh   []pin // promoted by this round
}

// pin is a promoted transaction.
type pin struct {
	Pin
	writer, spared, dead bool
}

// A Pin is a live transaction.
type Pin struct {
	Epoch Epoch         // its read epoch
	Since time.Duration // the time of the round that saw it first

	slot *Slot
	gen  Gen
}

// Limits are the ages from which on [Slots.Round] evicts a transaction, or warns of it; 0 means
// never. The functions may be nil.
type Limits struct {
	Evict, Warn     time.Duration
	Evicted, Warned func(Pin)
}

// Round finds the live transactions. now is the time on the caller's own clock: the age of a
// transaction counts from the round that saw it first. Round promotes transactions that have been
// live for some rounds, evicts those that are too old and not [Spared], and returns the live
// transaction with the lowest epoch, if there is one. Views made after the call do not have the
// epoch of an evicted transaction; its owner finds out by [Slot.Evicted]. Round warns once of a
// transaction that is not Spared, and not before it is promoted.
//
// Rounds must not overlap. The cost is that of a scan, and of the changes among the
// promoted transactions.
func (s *Slots) Round(now time.Duration, limits Limits) (oldest Pin, ok bool) {
	p := &s.pins
	p.round++
	changed := s.reapEnded()
	clock, m := s.announce()
	young := Pin{Epoch: 1<<64 - 1}
	for g := range s.groups {
		for slot := range g.scanned {
			word, gen, live := slot.loadState()
			e := epochIn(word)
			if !live || e > clock {
				continue
			}
			if slot.seen != gen || slot.seenWord != word {
				if e < p.bound {
					continue // still in Begin: the bound of the last round is above it
				}
				slot.seen, slot.seenWord, slot.round, slot.since = gen, word, p.round, now
			}
			found := Pin{e, slot.since, slot, gen}
			switch {
			case limits.Evict > 0 && now-slot.since >= limits.Evict && word&Spared == 0 && slot.evict(gen):
				found.reportTo(limits.Evicted)
			case p.round-slot.round >= promoteRounds && slot.promote(word, gen):
				p.fresh = append(p.fresh, pin{Pin: found, writer: word&MayWrite != 0,
					spared: word&Spared != 0})
			case e < young.Epoch || e == young.Epoch && slot.since < young.Since:
				young = found
			}
		}
	}
	p.bound = m
	changed = s.enter() || changed
	changed = s.evictOld(now, limits) || changed
	if changed {
		s.publish()
	}
	// Must follow: see Look.
	for _, f := range p.fresh {
		f.slot.group.scan.And(^f.slot.groupBit())
	}
	clear(p.fresh)
	p.fresh = p.fresh[:0]
	if cap(p.fresh) > maxSpare {
		p.fresh = nil
	}
	s.warnOld(now, limits)
	oldest = young
	for i := range p.list {
		o := &p.list[i]
		if o.dead {
			continue
		}
		if o.Epoch <= oldest.Epoch {
			oldest = o.Pin
		}
		if !p.stirred {
			break
		}
	}
	return oldest, oldest.slot != nil
}

// Oldest returns up to n of the live transactions that the last round has seen, the oldest first.
// Only the caller of [Slots.Round] may call it.
func (s *Slots) Oldest(n int) (list []Pin) {
	for i := range s.pins.list { // sorted by age
		if one := &s.pins.list[i]; !one.dead && one.slot.Gen() == one.gen {
			list = append(list, one.Pin)
		}
		if len(list) >= n {
			return list[:n]
		}
	}
	promoted := len(list)
	for g := range s.groups {
		for slot := range g.scanned {
			word, gen, live := slot.loadState()
			if live && slot.seen == gen && slot.seenWord == word {
				list = append(list, Pin{epochIn(word), slot.since, slot, gen})
			}
		}
	}
	slices.SortFunc(list[promoted:], func(a, b Pin) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Epoch, b.Epoch))
	})
	return list[:min(n, len(list))]
}

// maxSpare is the number of pins for which room is kept from round to round.
const maxSpare = 1024

// promote marks the slot's transaction gen, which publishes word, as promoted, and returns true. It
// returns false if gen has ended, or is still in Begin and has published another epoch.
func (slot *Slot) promote(word uint64, gen Gen) bool {
	slot.promoted.Store(uint64(gen))
	if slot.Gen() == gen && slot.word.Load() == word {
		return true
	}
	// If this fails the owner has left the slot behind: reapEnded finds it.
	slot.promoted.CompareAndSwap(uint64(gen), 0)
	return false
}

// reapEnded takes the promoted transactions that have ended out of the list, releases
// their slots, and reports whether there were any.
func (s *Slots) reapEnded() (changed bool) {
	// gone is loaded before the bits: a bit that is set later is counted later.
	gone := s.gone.Load()
	if gone == s.pins.gone {
		return false
	}
	s.pins.gone = gone
	for g := range s.groups {
		over := g.over.Load()
		g.over.And(^over)
		for w := over; w != 0; w &= w - 1 {
			slot := g.slots[bits.TrailingZeros64(w)].Load()
			if slot.pin > 0 {
				changed = s.pins.buryPin(int(slot.pin-1)) || changed
				slot.pin = 0
			}
			s.Release(slot)
		}
	}
	return changed
}

// buryPin notes that a pin of the list has ended, and reports whether that is new.
func (p *pins) buryPin(i int) bool {
	if p.list[i].dead {
		return false
	}
	p.list[i].dead = true
	p.dead++
	return true
}

// enter enters the pins that this round promotes in the list, and reports whether there are any.
// One round, the last but one, saw all of them first; earlier rounds saw those in the list. So the
// epochs of the new pins are between the bounds of that round and of the round before it, and are
// higher than the epochs in the list. The exceptions are transactions that have begun as of an old
// epoch.
func (s *Slots) enter() (changed bool) {
	p := &s.pins
	if len(p.fresh) == 0 {
		return false
	}
	slices.SortFunc(p.fresh, func(a, b pin) int { return cmp.Compare(a.Epoch, b.Epoch) })
	p.compact()
	if n := len(p.list); n == 0 {
		p.stirred = false
	} else if p.fresh[0].Epoch < p.list[n-1].Epoch {
		p.stirred = true
	}
	p.list = append(p.list, p.fresh...)
	for i := len(p.list) - len(p.fresh); i < len(p.list); i++ {
		p.list[i].slot.pin = uint32(i + 1)
	}
	p.check()
	return true
}

// compact drops the dead from the list, if they are many.
func (p *pins) compact() {
	if p.dead*2 < len(p.list) {
		return
	}
	told := 0
	kept := p.list[:0]
	for i, one := range p.list {
		if one.dead {
			one.slot.pin = 0
			continue
		}
		if i < p.told {
			told++
		}
		kept = append(kept, one)
		one.slot.pin = uint32(len(kept))
	}
	clear(p.list[len(kept):])
	p.list, p.told, p.dead = kept, told, 0
	if cap(kept) > 4*max(len(kept), maxSpare) {
		p.list = slices.Clone(kept)
	}
}

// evictOld evicts the transactions of the list that are too old, and reports whether the list has
// changed.
func (s *Slots) evictOld(now time.Duration, limits Limits) (changed bool) {
	if limits.Evict <= 0 {
		return false
	}
	p := &s.pins
	for i := range p.list {
		one := &p.list[i]
		if one.dead || one.spared {
			continue
		}
		if now-one.Since < limits.Evict {
			break
		}
		if one.slot.evict(one.gen) {
			one.reportTo(limits.Evicted)
		}
		changed = p.buryPin(i) || changed // evicted or, just now, ended
	}
	return changed
}

// warnOld warns of the transactions of the list that are old, and not spared.
func (s *Slots) warnOld(now time.Duration, limits Limits) {
	p := &s.pins
	if limits.Warn <= 0 {
		return
	}
	for ; p.told < len(p.list) && now-p.list[p.told].Since >= limits.Warn; p.told++ {
		if one := &p.list[p.told]; !one.dead && !one.spared {
			one.reportTo(limits.Warned)
		}
	}
}

// publish publishes the epochs of the list.
func (s *Slots) publish() {
	p := &s.pins
	p.compact()
	old := &oldEpochs{epochs: make([]Epoch, 0, len(p.list)-p.dead)}
	for i := range p.list {
		one := &p.list[i]
		if one.dead {
			continue
		}
		if n := len(old.epochs); n == 0 || old.epochs[n-1] != one.Epoch {
			old.epochs = append(old.epochs, one.Epoch)
		}
		if one.writer && (old.writer == 0 || one.Epoch < old.writer) {
			old.writer = one.Epoch
		}
	}
	if p.stirred {
		slices.Sort(old.epochs)
		old.epochs = slices.Compact(old.epochs)
	}
	s.old.Store(old)
}

func (p Pin) reportTo(f func(Pin)) {
	if f != nil {
		f(p)
	}
}

// evict ends the transaction gen, if it has not ended, and reports whether it did.
func (slot *Slot) evict(gen Gen) bool {
	return slot.moveOn(gen, (gen+1)|evictedBit)
}
