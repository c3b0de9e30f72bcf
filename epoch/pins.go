package epoch

import (
	"iter"
	"runtime"
	"time"
)

// evictedBit in a generation says that the transaction before was evicted, and
// that its owner has not ended it yet. Generations grow by one for each
// transaction and never reach it.
const evictedBit = 1 << 63

// Evicted reports whether the transaction gen was ended by [Pin.Evict], and its
// owner has not called End since.
func (slot *Slot) Evicted(gen uint64) bool { return slot.gen.Load() == (gen+1)|evictedBit }

// WasEvicted reports whether the transaction gen was evicted, also if its owner has
// called End since, until a later one is.
func (slot *Slot) WasEvicted(gen uint64) bool { return slot.Evicted(gen) || slot.evicted.Load() == gen }

// collect lets the owner of the evicted transaction gen have its slot back, and
// reports whether this call did.
func (slot *Slot) collect(gen uint64) bool {
	if !slot.Evicted(gen) {
		return false
	}
	slot.evicted.Store(gen) // before the bit goes: see WasEvicted
	return slot.gen.CompareAndSwap((gen+1)|evictedBit, gen+1)
}

// AddInstalled adds n to a count of the slot, which [Slots.Census] sums up. Only
// the owner of the slot may call it.
func (slot *Slot) AddInstalled(n uint64) { slot.installed.Store(slot.installed.Load() + n) }

// A trace is where a transaction began.
type trace struct {
	gen uint64
	pcs []uintptr
}

// maxTrace is how many calls a trace has at most.
const maxTrace = 32

// Trace notes the stack of the caller as where the transaction gen of the slot
// began, leaving out skip calls. Only the owner of the slot may call it.
// It costs about a microsecond and two allocations.
func (slot *Slot) Trace(gen uint64, skip int) {
	pcs := make([]uintptr, maxTrace)
	pcs = pcs[:runtime.Callers(skip+2, pcs)]
	slot.trace.Store(&trace{gen, pcs})
}

// A Pin is a live transaction, as [Slots.Pins] found it.
type Pin struct {
	Epoch uint64        // its read epoch
	Since time.Duration // when it was first seen, on the clock of the callers of Pins

	slot *Slot
	gen  uint64
}

// Pins returns an iterator over the live transactions, in no particular order. now
// is the time on the caller's own clock: the age of a transaction counts from the
// first pass that saw it. Passes must not overlap. The cost is one pass over all
// slots ever handed out.
func (s *Slots) Pins(now time.Duration) iter.Seq[Pin] {
	return func(yield func(Pin) bool) {
		for slot := range s.each {
			word, gen, live := slot.look()
			if !live {
				continue
			}
			if slot.seen != gen {
				slot.seen, slot.since = gen, now
			}
			if !yield(Pin{word >> 1, slot.since, slot, gen}) {
				return
			}
		}
	}
}

// Evict ends the transaction, if it has not ended, and reports whether it did.
// What it published is no longer in views made from now on, so what it reads may
// be dropped. Its owner finds out by [Slot.Evicted].
func (p Pin) Evict() bool { return p.slot.gen.CompareAndSwap(p.gen, (p.gen+1)|evictedBit) }

// Warn reports whether it is called for this transaction for the first time. Calls
// must not overlap, nor overlap with a pass of Pins.
func (p Pin) Warn() bool {
	if p.slot.warned == p.gen {
		return false
	}
	p.slot.warned = p.gen
	return true
}

// Began returns the calls that led to the begin of the transaction, innermost
// first, or nothing if [Slot.Trace] was not called for it.
func (p Pin) Began() []runtime.Frame {
	t := p.slot.trace.Load()
	if t == nil || t.gen != p.gen {
		return nil
	}
	var list []runtime.Frame
	for frames := runtime.CallersFrames(t.pcs); ; {
		f, more := frames.Next()
		if f.PC != 0 {
			list = append(list, f)
		}
		if !more {
			return list
		}
	}
}
