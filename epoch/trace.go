package epoch

import "runtime"

// A trace is where a transaction began.
type trace struct {
	gen Gen
	pcs []uintptr
}

// maxTrace is how many calls a trace has at most.
const maxTrace = 32

// Trace notes the stack of the caller, without skip calls, as the place where the transaction gen
// of the slot began. Only the owner of the slot may call it. It costs about a microsecond and two
// allocations.
func (slot *Slot) Trace(gen Gen, skip int) {
	pcs := make([]uintptr, maxTrace)
	pcs = pcs[:runtime.Callers(skip+2, pcs)]
	slot.trace.Store(&trace{gen, pcs})
}

// Live calls yield for the live transactions, perhaps also for some that begin or end meanwhile.
func (s *Slots) Live(yield func(p Pin) bool) {
	for slot := range s.all {
		if p, live := slot.Pin(); live && !yield(p) {
			return
		}
	}
}

// Pin returns the transaction that is live in the slot, if one is.
func (slot *Slot) Pin() (p Pin, live bool) {
	word, gen, live := slot.loadState()
	return Pin{Epoch: epochIn(word), slot: slot, gen: gen}, live
}

// MayWrite reports whether the transaction of a [Slot.Pin], which must be live, may write.
func (p Pin) MayWrite() bool { return p.slot.word.Load()&MayWrite != 0 }

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
