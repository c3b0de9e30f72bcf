package epoch

import (
	stdatomic "sync/atomic"
	"time"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/debug/invariant"
)

// A Head is the part of a [Slot] that each read loads. It is a type of its own so that code
// compiled in many packages can reach nothing else of the slot.
type Head struct {
	// begun is the generation whose Begin has passed its check of the bound.
	begun invariant.Ghost

	// word is the read epoch, bits that say whether the transaction may
	// write, and is spared, and the lowest bit of gen at the time of Begin. The slot is live
	// while that bit equals the lowest bit of gen. Written by the owner in
	// Begin only.
	word atomic.Uint64
	// gen is the slot's generation. It names one transaction, and moves on exactly once, when that
	// transaction ends. So a single compare-and-swap both releases the slot and decides which of
	// several callers ended the transaction. evictedBit says that the previous transaction was
	// evicted, and that its owner has not called End since: nothing begins in the slot before the
	// owner does.
	gen atomic.Uint64
}

// A Slot is where one transaction at a time publishes its read epoch. It belongs to one pooled
// transaction state, until the state gives it up.
type Slot struct {
	Head // first

	// promoted is the generation that was promoted, see [Slots.Round]. It is left once the owner of
	// that generation has given the slot up.
	promoted atomic.Uint64

	// installed sums up the arguments of [Slot.Settle], times two. Its lowest bit is the bit of the
	// record that was settled last, see [RecordBit]. Only the owner writes installed.
	installed atomic.Uint64

	// evicted is the last evicted transaction whose eviction the owner has noticed.
	evicted atomic.Uint64

	// record decides about a commit of several keys. The engine gives the word its meaning, except
	// for RecordBit.
	record atomic.Uint64

	// trace is where the transaction began, if that is traced.
	trace stdatomic.Pointer[trace]

	// group and number are where the slot stands in the directory.
	group    *group
	number   uint32
	released stdatomic.Bool // by its last owner

	// pin is the index of the promoted transaction in the list of pins, plus one. seen and seenWord
	// are the generation and the word that a round has found here, round and since the number and
	// the time of that round. Only the reclaimer uses them.
	pin      uint32
	seen     Gen
	seenWord uint64
	round    uint64
	since    time.Duration

	_ [cacheLine - 112]byte
}

// The parts of a slot's word.
const (
	parity = 1
	// MayWrite marks a transaction that may write, for [Slots.Begin].
	MayWrite = 2
	// Spared marks a transaction that [Slots.Round] does not evict, however old it is.
	Spared     = 4
	epochShift = 3
)

// evictedBit in a generation says that the transaction before was evicted, and
// that its owner has not ended it yet. Generations grow by one for each
// transaction and never reach it.
const evictedBit = 1 << 63

// left in Slot.promoted says that the owner has given the slot up.
const left = 1<<64 - 1

func (slot *Slot) groupBit() uint64 { return 1 << (slot.number % groupSize) }

// placeInGroup returns the slot's place in the directory.
func (slot *Slot) placeInGroup() *stdatomic.Pointer[Slot] {
	return &slot.group.slots[slot.number%groupSize]
}

// Gen returns the slot's generation, which names the transaction that is live
// in it, or the next one that will be.
func (slot *Head) Gen() Gen { return Gen(slot.gen.Load()) }

// Epoch returns the read epoch of the transaction that is live in the slot, or
// was last.
func (slot *Head) Epoch() Epoch { return epochIn(slot.word.Load()) }

// epochIn returns the epoch in a slot's word.
func epochIn(word uint64) Epoch { return Epoch(word >> epochShift) }

// Ended returns how many transactions of the slot have ended.
func (slot *Slot) Ended() uint64 { return uint64(slot.Gen()&^evictedBit - 1) }

// End ends the transaction that gen names, and reports whether this call ended it. Of several calls
// with the same gen exactly one returns true, even if the transaction has been evicted meanwhile.
// The caller that got true calls [Slot.Keep] next.
func (slot *Slot) End(gen Gen) bool {
	return slot.Gen() == gen && slot.moveOn(gen, gen+1) || slot.collect(gen)
}

// Keep reports whether the owner, which has ended transaction gen, may use the slot for another
// one. If not, gen had been promoted: the slot is no longer the owner's, and the next round
// releases it.
func (slot *Slot) Keep(gen Gen) bool {
	return Gen(slot.promoted.Load()) != gen || slot.leave(gen)
}

// leave is Keep for a transaction that seems to have been promoted.
func (slot *Slot) leave(gen Gen) (keep bool) {
	// promote takes its mark off again if it finds gen ended: one of both gets the slot.
	if !slot.promoted.CompareAndSwap(uint64(gen), left) {
		return true
	}
	slot.group.over.Or(slot.groupBit())
	slot.group.home.gone.Add(1)
	return false
}

func (slot *Slot) isLive(word uint64, gen Gen) bool { return (word^uint64(gen))&parity == 0 }

// moveOn moves the generation on, if it is still from.
func (slot *Slot) moveOn(from, to Gen) bool {
	return slot.gen.CompareAndSwap(uint64(from), uint64(to))
}

// loadState loads word and generation, and reports whether a transaction is live. It loads the word
// twice: if the word has changed, a transaction has begun in between, and the generation may be the
// new transaction's, and not belong to the first word. The new transaction reads at or above any
// bound that was stored before the call.
func (slot *Slot) loadState() (word uint64, gen Gen, live bool) {
	word = slot.word.Load()
	gen = slot.Gen()
	return word, gen, slot.isLive(word, gen) && slot.word.Load() == word
}

// Evicted reports whether a round has evicted the transaction gen, and its owner has not called End
// since.
func (slot *Slot) Evicted(gen Gen) bool { return slot.Gen() == (gen+1)|evictedBit }

// WasEvicted reports whether the transaction gen was evicted, even if its owner has called End
// since. It forgets gen when a later transaction of the slot is evicted.
func (slot *Slot) WasEvicted(gen Gen) bool {
	return slot.Evicted(gen) || Gen(slot.evicted.Load()) == gen
}

// collect gives the slot of the evicted transaction gen back to the owner of the slot, and reports
// whether this call gave it back.
func (slot *Slot) collect(gen Gen) bool {
	if !slot.Evicted(gen) {
		return false
	}
	slot.evicted.Store(uint64(gen)) // before evictedBit goes: see WasEvicted
	return slot.moveOn((gen+1)|evictedBit, gen+1)
}

// Number returns the slot's number, by which [Slots.Record] finds its record.
func (slot *Slot) Number() uint64 { return uint64(slot.number) }

// Record returns the slot's record. Its users give it a meaning, and leave [RecordBit] as it is.
func (slot *Slot) Record() *atomic.Uint64 { return &slot.record }

// RecordBit is the bit of a record that changes whenever the record is opened.
const RecordBit = 1 << 2

// Open makes the record say word, which does not have RecordBit. From then on others may refer to
// the record. Only the owner of the slot may call Open and [Slot.Settle].
func (slot *Slot) Open(word uint64) {
	bit := ^loadUnhooked(&slot.installed) & 1
	atomic.Release(&slot.record, word|bit*RecordBit)
}

// Settle says that nobody refers any more to the contents of the record, and adds n to a
// count of the slot, which [Slots.Census] sums up.
func (slot *Slot) Settle(n uint64) {
	bit := loadUnhooked(&slot.record) / RecordBit & 1
	atomic.Release(&slot.installed, (slot.installed.Load()>>1+n)<<1|bit)
}

// Settled reports whether the record was settled since it was opened last. A record that was not
// settled must never decide about anything else: its slot is not given back, and no other slot gets
// the slot's number. Only the owner may call Settled.
func (slot *Slot) Settled() bool {
	return loadUnhooked(&slot.installed)&1 == loadUnhooked(&slot.record)/RecordBit&1
}

// loadUnhooked loads a word that only the owner writes, without a yield point: the order of
// goroutines does not matter here.
func loadUnhooked(word *atomic.Uint64) uint64 {
	return stdatomic.LoadUint64((*uint64)(unsafe.Pointer(word)))
}
