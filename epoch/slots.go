package epoch

import (
	"math/bits"
	"sync"
	stdatomic "sync/atomic"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/hooks/atomic"
)

// An Epoch is a value of the logical clock.
type Epoch uint64

// First is the epoch of an empty map: the clock's first value. Commit epochs
// are above it. No transaction reads at epoch 0.
const First Epoch = 1

// A Gen is a generation of a slot: the name of one transaction in it.
type Gen uint64

// cacheLine is the padding unit: two lines of 64 bytes, because the hardware of
// amd64 and arm64 fetches lines in pairs.
const cacheLine = 128

// Slots is the clock of one map together with the slots in which its live
// transactions publish their read epochs. Use [NewSlots]; all methods are safe
// for concurrent use, except for those that say otherwise.
type Slots struct {
	_ [cacheLine]byte
	// clock is the newest epoch drawn. bound is the largest bound any refresh has announced. They
	// share a line: every Begin reads both, and each commit takes the line of clock away from all
	// goroutines that begin anyway.
	//
	// kept and held are epochs that the bound must not pass, or 0, see [Slots.Keep] and
	// [Slots.Hold]. Only makers of views read them.
	clock      atomic.Uint64
	bound      atomic.Uint64
	kept, held stdatomic.Uint64
	_          [cacheLine - 32]byte

	// dir is the directory of the slots, by their numbers. It is loaded by
	// scans and replaced under mu.
	dir stdatomic.Pointer[[]stdatomic.Pointer[group]]
	// old are the read epochs of the promoted transactions, see [Slots.Round].
	old atomic.Pointer[oldEpochs]
	// gone counts the promoted transactions that have ended.
	gone stdatomic.Uint64

	mu     sync.Mutex // held for a few instructions
	vacant int        // no group before this one has room; guarded by mu
	owned  int        // how many slots have an owner; guarded by mu
	// The counts of the slots that are gone; written under mu.
	ended, installed stdatomic.Uint64
	// releases is odd while a slot's counts are added to ended and installed.
	releases stdatomic.Uint64
	leaked   stdatomic.Uint64 // ended by Abandon

	pins pins
}

// A group is 64 slots with consecutive numbers.
type group struct {
	home *Slots
	// scan has a bit for each slot that a scan must look at: a slot that has an owner and whose
	// transaction is not promoted. The bit is set before Acquire returns. It is cleared after the
	// read epoch has been published as an old one, or when the owner gives the slot up.
	scan atomic.Uint64
	// over has a bit for each slot whose transaction was promoted and has ended.
	over  atomic.Uint64
	slots [groupSize]stdatomic.Pointer[Slot]
	owned uint64 // a bit for each slot that has an owner; guarded by Slots.mu
}

const groupSize = 64

// NewSlots returns a clock that stands at [First], and no slots.
func NewSlots() *Slots {
	s := new(Slots)
	s.clock.Store(uint64(First))
	s.old.Store(new(oldEpochs))
	s.dir.Store(new([]stdatomic.Pointer[group]))
	return s
}

// Now returns the newest epoch drawn.
func (s *Slots) Now() Epoch { return Epoch(s.clock.Load()) }

// Next draws the next epoch. It is the one shared write of a commit.
func (s *Slots) Next() Epoch { return Epoch(s.clock.Add(1)) }

// SkipTo sets the clock to e, unless the clock is at e or above already. It returns the number of
// epochs by which the clock has moved; nobody has drawn the epochs that it passed over.
func (s *Slots) SkipTo(e Epoch) (skipped uint64) {
	for now := s.clock.Load(); now < uint64(e); now = s.clock.Load() {
		if s.clock.CompareAndSwap(now, uint64(e)) {
			return uint64(e) - now
		}
	}
	return 0
}

// Bound returns the bound announced last. No transaction begins below it.
func (s *Slots) Bound() Epoch { return Epoch(s.bound.Load()) }

// Acquire returns a new slot, with the lowest number that is free. There is no limit. It takes a
// mutex and allocates 128 bytes: call it when a transaction state is made, not when a transaction
// begins.
func (s *Slots) Acquire() *Slot {
	slot := new(Slot)
	slot.gen.Store(1) // word says 0: not live
	s.place(slot)
	// Must follow: a scan that finds the bit finds the slot.
	slot.group.scan.Or(slot.groupBit())
	return slot
}

// place gives slot the lowest number that is free.
func (s *Slots) place(slot *Slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := *s.dir.Load()
	i := s.vacant
	for i < len(dir) && dir[i].Load() != nil && dir[i].Load().owned == 1<<groupSize-1 {
		i++
	}
	if i == len(dir) {
		dir = s.extend(dir)
	}
	s.vacant = i
	g := dir[i].Load()
	if g == nil {
		g = &group{home: s}
		dir[i].Store(g)
	}
	slot.group, slot.number = g, uint32(i*groupSize+bits.TrailingZeros64(^g.owned))
	g.owned |= slot.groupBit()
	s.owned++
	slot.placeInGroup().Store(slot)
}

// extend appends a place for a group to the directory. s.mu is held.
func (s *Slots) extend(dir []stdatomic.Pointer[group]) []stdatomic.Pointer[group] {
	n := len(dir)
	if n == cap(dir) {
		grown := make([]stdatomic.Pointer[group], n, max(2*n, 4))
		for i := range dir {
			grown[i].Store(dir[i].Load())
		}
		dir = grown
	}
	dir = dir[:n+1]
	s.dir.Store(&dir)
	return dir
}

// Release takes back a slot in which nothing is live, from an owner that never uses it again: its
// memory goes when nothing refers to it any more. A slot whose record is not settled stays for
// ever: a version that still refers to its number finds its record, and never that of another slot.
// Only the first call does anything. It takes a mutex.
func (s *Slots) Release(slot *Slot) {
	if slot.released.Swap(true) {
		return
	}
	slot.checkReleased()
	slot.group.scan.And(^slot.groupBit()) // the number is still ours
	if !slot.Settled() {
		return
	}
	ended, installed := slot.Ended(), slot.installed.Load()>>1
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releases.Add(1)
	s.ended.Add(ended)
	s.installed.Add(installed)
	slot.placeInGroup().Store(nil)
	s.releases.Add(1)
	slot.group.owned &^= slot.groupBit()
	s.owned--
	i := int(slot.number) / groupSize
	s.vacant = min(s.vacant, i)
	if slot.group.owned == 0 {
		(*s.dir.Load())[i].Store(nil)
		s.shorten()
	}
}

// shorten takes places at the end that have no group off the directory. s.mu is held.
func (s *Slots) shorten() {
	dir := *s.dir.Load()
	n := len(dir)
	for n > 0 && dir[n-1].Load() == nil {
		n--
	}
	if n == len(dir) {
		return
	}
	dir = dir[:n]
	if cap(dir) > 4*max(n, 4) {
		shrunk := make([]stdatomic.Pointer[group], n, 2*n)
		for i := range dir {
			shrunk[i].Store(dir[i].Load())
		}
		dir = shrunk
	}
	s.dir.Store(&dir)
}

// Abandon takes back a slot whose owner is unreachable. It ends the transaction that is still live
// in the slot, and reports whether there was such a transaction: a leaked handle.
func Abandon(slot *Slot) (leaked bool) {
	s := slot.group.home
	gen := slot.Gen()
	ended := false
	switch {
	case slot.isLive(slot.word.Load(), gen):
		leaked = slot.End(gen) // else its owner has just ended it
		ended = leaked || slot.collect(gen)
	case gen&evictedBit != 0:
		gen = gen&^evictedBit - 1
		ended = slot.collect(gen)
	}
	if leaked {
		s.leaked.Add(1)
	}
	if ended && !slot.Keep(gen) || slot.promoted.Load() == left {
		return leaked // the slot goes with the next round
	}
	s.Release(slot)
	return leaked
}

// Leaked counts the transactions that [Abandon] has ended.
func (s *Slots) Leaked() uint64 { return s.leaked.Load() }

// Begin publishes the current epoch in slot and returns it. It does one atomic store and no shared
// read-modify-write, allocates nothing and waits for nobody; it tries again only when a refresh
// announced a newer bound in between. The caller must own slot, and slot must not be live. kind is
// [MayWrite] for a transaction that may write, [Spared] for one that is not to be evicted, or both.
//
// The transaction may be evicted before Begin has returned: its generation is the one that the slot
// had before the call. It may even be promoted. If it was promoted with an epoch that Begin could
// not keep, Begin ends it and returns 0: the caller asks [Slot.Keep], and begins again, in another
// slot if need be.
//
// When Begin has returned S, every refresh either lists S among the live epochs
// or has a bound of at most S.
func (s *Slots) Begin(slot *Slot, kind uint64) Epoch {
	slot.checkBegin()
	gen := slot.Gen() // once: an eviction may move it on meanwhile
	for again := false; ; again = true {
		now := s.Now()
		hooks.At(hooks.BeginLoaded)
		// This store must precede the load of bound: a refresh that does not see the store has
		// stored its bound before, and the load below sees that bound.
		slot.word.Store(uint64(now)<<epochShift | kind | uint64(gen)&parity)
		hooks.At(hooks.BeginStored)
		if s.Bound() <= now {
			// Must follow the store: promote loads the word after it has set its mark.
			if again && Gen(slot.promoted.Load()) == gen {
				slot.End(gen)
				return 0
			}
			s.checkBegun(slot, now)
			return now
		}
	}
}

// BeginAt is [Slots.Begin] for a transaction that only reads, [Spared] or not, as of an epoch that
// the clock has reached. It reports whether every refresh lists the epoch, or has a bound at or
// below it. If not, nothing has begun: the caller asks [Slot.Keep], as after an end.
func (s *Slots) BeginAt(slot *Slot, at Epoch, kind uint64) bool {
	slot.checkBegin()
	gen := slot.Gen()
	// In this order, see Begin.
	slot.word.Store(uint64(at)<<epochShift | kind | uint64(gen)&parity)
	hooks.At(hooks.BeginStored)
	if s.Bound() > at {
		slot.End(gen)
		return false
	}
	s.checkBegun(slot, at)
	return true
}

// Keep keeps the bound from passing e from now on. e must not be lower than in the call before; 0,
// as in the beginning, keeps nothing.
func (s *Slots) Keep(e Epoch) { s.kept.Store(uint64(e)) }

// Hold is [Slots.Keep] for a caller that may end it, by a Hold of 0, and later hold again, at the
// clock of that time. A view that is being made meanwhile may have a bound above e, but none above
// the clock at the return of Hold.
func (s *Slots) Hold(e Epoch) { s.held.Store(uint64(e)) }

// Holds reports whether the bound stays behind the clock because of [Slots.Keep] or
// [Slots.Hold].
func (s *Slots) Holds() bool { return s.kept.Load()|s.held.Load() != 0 }

// all calls yield for every slot that has an owner.
func (s *Slots) all(yield func(*Slot) bool) {
	for g := range s.groups {
		for j := range g.slots {
			if slot := g.slots[j].Load(); slot != nil && !yield(slot) {
				return
			}
		}
	}
}

// Owned returns how many slots have an owner.
func (s *Slots) Owned() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owned
}

// Census counts the live transactions and those that have ended, and adds up the arguments of
// [Slot.Settle]. It is not a snapshot: transactions may begin and end while it counts. It takes a
// mutex if slots are released in each of several tries.
func (s *Slots) Census() (live int, ended, installed uint64) {
	for range censusTries {
		before := s.releases.Load()
		live, ended, installed = s.count()
		if before%2 == 0 && s.releases.Load() == before {
			return live, ended, installed
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count()
}

const censusTries = 3

// count is Census while no slot is released.
func (s *Slots) count() (live int, ended, installed uint64) {
	for slot := range s.all {
		if _, _, lives := slot.loadState(); lives {
			live++
		}
		ended += slot.Ended()
		installed += slot.installed.Load() >> 1
	}
	return live, ended + s.ended.Load(), installed + s.installed.Load()
}

// Record returns the record of the slot that has the number, or nil if there is none
// any more.
func (s *Slots) Record(number uint64) *atomic.Uint64 {
	dir := *s.dir.Load()
	if number/groupSize >= uint64(len(dir)) {
		return nil
	}
	g := dir[number/groupSize].Load()
	if g == nil {
		return nil
	}
	slot := g.slots[number%groupSize].Load()
	if slot == nil {
		return nil
	}
	return &slot.record
}
