package epoch

import "runtime"

// A trace is where a transaction began.
type trace struct {
	gen Gen
	pcs []uintptr
}

// maxTrace is how many calls a trace has at most.
const maxTrace = 32

// Trace notes the stack of the caller as where the transaction gen of the slot
// began, leaving out skip calls. Only the owner of the slot may call it.
// It costs about a microsecond and two allocations.
func (slot *Slot) Trace(gen Gen, skip int) {
	pcs := make([]uintptr, maxTrace)
	pcs = pcs[:runtime.Callers(skip+2, pcs)]
	slot.trace.Store(&trace{gen, pcs})
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
