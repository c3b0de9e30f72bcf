package journey

import "github.com/mvccmap/mvccmap/epoch"

// slots is the tracker of package mvcc: a transaction takes an idle slot off the free list of
// the current P, and stores one word.
type slots struct {
	slots *epoch.Slots // the clock as well
	idle  epoch.Pool[epoch.Slot]
}

func (t *slots) Begin(Clock) Handle {
	slot := t.idle.Get()
	if slot == nil {
		slot = t.slots.Acquire()
	}
	gen := slot.Gen()
	return Handle{Epoch: t.slots.Begin(slot, epoch.MayWrite), slot: slot, gen: gen}
}

// End gives the slot back. None is promoted, since there are no rounds.
func (t *slots) End(h Handle) {
	h.slot.End(h.gen)
	t.idle.Put(h.slot)
}

func (t *slots) MinVisible(Clock) epoch.Epoch {
	var v epoch.View
	t.slots.Look(&v, t.slots.Announce(), nil)
	return v.Min
}

func (t *slots) Close() {}
