package mvcc

import "sync"

// expiryHold keeps records from expiring while something is loaded in steps: between two steps
// there may be records that were renewed or deleted later.
type expiryHold struct {
	mu      sync.Mutex
	changed *sync.Cond // of mu; made by the first hold
	holders int
	running int // sweeps that delete just now
}

// begin reports whether a sweep may delete. If so, the sweep must call end.
func (h *expiryHold) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holders > 0 {
		return false
	}
	h.running++
	return true
}

func (h *expiryHold) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running--; h.changed != nil {
		h.changed.Broadcast()
	}
}

// hold waits until nothing deletes any more.
func (h *expiryHold) hold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed == nil {
		h.changed = sync.NewCond(&h.mu)
	}
	for h.holders++; h.running > 0; {
		h.changed.Wait()
	}
}

func (h *expiryHold) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holders--
}

func (db door) HoldExpiry() (release func()) {
	h := &dbAt(db.DB).shared.expiryHold
	dbAt(db.DB).shared.gc.Outside("HoldExpiry")
	h.hold()
	return sync.OnceFunc(h.release)
}
