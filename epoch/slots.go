package epoch

import (
	"slices"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// First is the epoch of an empty map: the clock's first value. Commit epochs
// are above it.
const First = 1

// cacheLine is the padding unit: two lines of 64 bytes, because the hardware of
// amd64 and arm64 fetches lines in pairs.
const cacheLine = 128

// slotsPerChunk is how many slots are allocated at a time.
const slotsPerChunk = 64

// Slots is the clock of one map together with the slots in which its live
// transactions publish their read epochs. Use [NewSlots]; all methods are safe
// for concurrent use.
type Slots struct {
	_ [cacheLine]byte
	// clock is the newest epoch drawn. bound is the largest bound any refresh
	// has announced. Both are read by every Begin, and a commit takes the line
	// away from all beginners anyway, so they share it.
	clock atomic.Uint64
	bound atomic.Uint64
	_     [cacheLine - 16]byte

	// chunks is the append-only directory of slots; it never shrinks. Readers
	// load it, writers replace it under mu.
	chunks atomic.Pointer[[]*chunk]

	mu   sync.Mutex
	used int     // slots handed out of the last chunk; guarded by mu
	free []*Slot // slots whose owner was abandoned; guarded by mu
}

type chunk [slotsPerChunk]Slot

// A Slot is where one transaction at a time publishes its read epoch. It
// belongs to one pooled transaction state for life.
type Slot struct {
	ghost ghost

	// word is the read epoch shifted left by one, with the lowest bit of gen
	// at the time of Begin. The slot is live while that bit equals the lowest
	// bit of gen. Written by the owner in Begin only.
	word atomic.Uint64
	// gen is the slot's generation: it names one transaction, and moves on
	// exactly once, when that transaction ends. So a single compare-and-swap
	// both releases the slot and decides which of several callers ended it.
	// With evictedBit the transaction before was evicted, and its owner does
	// not know yet: the slot is released, but nothing begins in it before the
	// owner has ended it as well.
	gen atomic.Uint64

	// installed counts what the slot's owner reports by [Slot.AddInstalled].
	installed atomic.Uint64

	// evicted is the transaction that was evicted last, as far as its owner has
	// noticed.
	evicted atomic.Uint64

	// trace is where the transaction of its generation began, if that is
	// asked for.
	trace atomic.Pointer[trace]

	// seen, since and warned are the reclaimer's notes, see [Slots.Pins]: the
	// generation it found here, at which of its times it found it first, and
	// which it has warned of. Guarded by the reclaimer.
	seen   uint64
	since  time.Duration
	warned uint64

	_ [cacheLine - 64]byte
}

// NewSlots returns a clock that stands at [First], and no slots.
func NewSlots() *Slots {
	s := &Slots{used: slotsPerChunk}
	s.clock.Store(First)
	s.chunks.Store(&[]*chunk{})
	return s
}

// Now returns the newest epoch drawn.
func (s *Slots) Now() uint64 { return s.clock.Load() }

// Next draws the next epoch. It is the one shared write of a commit.
func (s *Slots) Next() uint64 { return s.clock.Add(1) }

// Bound returns the bound announced last. No transaction begins below it.
func (s *Slots) Bound() uint64 { return s.bound.Load() }

// Acquire returns a slot that nobody owns, at any time, without limit. It takes
// a mutex: call it when a transaction state is made, not when one begins.
func (s *Slots) Acquire() *Slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		slot := s.free[n-1]
		s.free = s.free[:n-1]
		if invariant.Enabled {
			slot.checkOwner(0)
		}
		return slot
	}
	chunks := *s.chunks.Load()
	if s.used == slotsPerChunk {
		c := new(chunk)
		for i := range c {
			c[i].gen.Store(1) // word says 0: not live
		}
		chunks = append(slices.Clip(chunks), c)
		s.chunks.Store(&chunks)
		s.used = 0
	}
	slot := &chunks[len(chunks)-1][s.used]
	s.used++
	return slot
}

// Abandon takes back a slot whose owner is unreachable, ends what it still
// published and reports whether it did: that is, whether a handle was leaked.
func (s *Slots) Abandon(slot *Slot) (leaked bool) {
	gen := slot.gen.Load()
	if slot.live(slot.word.Load(), gen) {
		leaked = slot.End(gen)
	} else if gen&evictedBit != 0 {
		slot.collect(gen&^evictedBit - 1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if invariant.Enabled {
		slot.checkOwner(1)
	}
	s.free = append(s.free, slot)
	return leaked
}

// Begin publishes the current epoch in slot and returns it. It does one atomic
// store and no shared read-modify-write, allocates nothing and waits for
// nobody; it goes round again only when a refresh announced a newer bound in
// between. The caller must own slot, and slot must not be live.
//
// The transaction may be evicted before Begin has returned: its generation is the one
// that the slot had before the call.
//
// When Begin has returned S, every refresh either lists S among the live epochs
// or has a bound of at most S.
func (s *Slots) Begin(slot *Slot) uint64 {
	if invariant.Enabled {
		slot.checkBegin()
	}
	gen := slot.gen.Load() // once: an eviction may move it on meanwhile
	for {
		now := s.clock.Load()
		if hooks.Enabled {
			hooks.At(hooks.BeginLoaded)
		}
		// Must precede the load of bound: a refresh that does not see this
		// store has stored its bound before, and the load below sees that.
		slot.word.Store(now<<1 | gen&1)
		if hooks.Enabled {
			hooks.At(hooks.BeginStored)
		}
		if s.bound.Load() <= now {
			if invariant.Enabled {
				s.checkBegun(slot, now)
			}
			return now
		}
	}
}

// Gen returns the slot's generation, which names the transaction that is live
// in it, or the next one that will be.
func (slot *Slot) Gen() uint64 { return slot.gen.Load() }

// Epoch returns the read epoch of the transaction that is live in the slot, or
// was last.
func (slot *Slot) Epoch() uint64 { return slot.word.Load() >> 1 }

// End ends the transaction that gen names and reports whether this call did it.
// Of several calls with the same gen exactly one returns true, also if the
// transaction has been evicted meanwhile.
func (slot *Slot) End(gen uint64) bool {
	return slot.gen.Load() == gen && slot.gen.CompareAndSwap(gen, gen+1) || slot.collect(gen)
}

func (slot *Slot) live(word, gen uint64) bool { return (word^gen)&1 == 0 }

// look loads word and generation, and reports whether a transaction is live. The word
// is loaded twice: if a transaction has begun in between, the generation may be its
// own, and word and generation would not belong together. That one then is at or
// above any bound that was stored before the call.
func (slot *Slot) look() (word, gen uint64, live bool) {
	word = slot.word.Load()
	gen = slot.gen.Load()
	return word, gen, slot.live(word, gen) && slot.word.Load() == word
}

// Announce reads the clock, makes the bound at least that, in this order, and
// returns what it read. The bound only grows, so calls may overlap: each scan
// that follows is covered by a bound at or above its own.
func (s *Slots) Announce() uint64 {
	m := s.clock.Load()
	if hooks.Enabled {
		hooks.At(hooks.BoundLoaded)
	}
	for b := s.bound.Load(); b < m && !s.bound.CompareAndSwap(b, m); {
		b = s.bound.Load()
	}
	if invariant.Enabled {
		s.checkAnnounced(m)
	}
	if hooks.Enabled {
		hooks.At(hooks.BoundStored)
	}
	return m
}

// Live appends the distinct read epochs below m of all live transactions to
// buf, sorted, and returns it. m must come from [Slots.Announce]. The cost is
// one pass over all slots ever handed out.
func (s *Slots) Live(m uint64, buf []uint64) []uint64 {
	if invariant.Enabled {
		s.checkScan(m)
	}
	for slot := range s.each {
		word, _, live := slot.look()
		if !live {
			continue
		}
		if e := word >> 1; e < m {
			buf = append(buf, e)
		}
	}
	slices.Sort(buf)
	return slices.Compact(buf)
}

// each calls yield for every slot handed out so far.
func (s *Slots) each(yield func(*Slot) bool) {
	for _, c := range *s.chunks.Load() {
		for i := range c {
			if !yield(&c[i]) {
				return
			}
		}
	}
}

// Cap returns the number of slots that a scan visits.
func (s *Slots) Cap() int { return len(*s.chunks.Load()) * slotsPerChunk }

// Census counts the live transactions and all that have ended, and adds up what
// the owners have reported by [Slot.AddInstalled]. It is not a snapshot:
// transactions may begin and end while it counts.
func (s *Slots) Census() (live int, ended, installed uint64) {
	for slot := range s.each {
		_, gen, lives := slot.look()
		if lives {
			live++
		}
		ended += gen&^evictedBit - 1
		installed += slot.installed.Load()
	}
	return live, ended, installed
}
