package journey

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/epoch"
)

// active is a map of the live transactions under a mutex.
type active struct {
	mu sync.Mutex
	of map[uint64]epoch.Epoch
	_  [64]byte
}

func (a *active) set(id uint64, e epoch.Epoch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of[id] = e
}

func (a *active) remove(id uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.of, id)
}

// copied is one map of the active. A scan copies it first, and then the epochs into a
// set, as the post had it.
type copied struct {
	active
	ids atomic.Uint64
}

func newCopied() *copied {
	return &copied{active: active{of: map[uint64]epoch.Epoch{}}}
}

func (t *copied) enter(e epoch.Epoch) Handle {
	h := Handle{Epoch: e, id: t.ids.Add(1)}
	t.set(h.id, e)
	return h
}

func (t *copied) leave(h Handle) { t.remove(h.id) }

func (t *copied) lowest() epoch.Epoch {
	set := map[epoch.Epoch]struct{}{}
	for _, e := range t.clone() {
		set[e] = struct{}{}
	}
	low := none
	for e := range set {
		low = min(low, e)
	}
	return low
}

func (t *copied) clone() map[uint64]epoch.Epoch {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.of)
}

// segmented is several maps of the active. None of them is copied.
type segmented struct {
	segments [16]active
	ids      atomic.Uint64
}

func newSegmented() *segmented {
	t := new(segmented)
	for i := range t.segments {
		t.segments[i].of = map[uint64]epoch.Epoch{}
	}
	return t
}

func (t *segmented) enter(e epoch.Epoch) Handle {
	h := Handle{Epoch: e, id: t.ids.Add(1)}
	t.segment(h.id).set(h.id, e)
	return h
}

func (t *segmented) leave(h Handle) { t.segment(h.id).remove(h.id) }

func (t *segmented) segment(id uint64) *active { return &t.segments[id%uint64(len(t.segments))] }

func (t *segmented) lowest() epoch.Epoch {
	low := none
	for i := range t.segments {
		low = min(low, t.segments[i].lowest())
	}
	return low
}

func (a *active) lowest() epoch.Epoch {
	a.mu.Lock()
	defer a.mu.Unlock()
	low := none
	for _, e := range a.of {
		low = min(low, e)
	}
	return low
}
