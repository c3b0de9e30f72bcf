package journey

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/epoch"
)

// active is maps of the live transactions.
type active struct {
	segments []segment
	// A scan copies the map first, and then the epochs into a set, as the post had it.
	copies bool
	ids    atomic.Uint64
}

type segment struct {
	sync.Mutex
	of map[uint64]epoch.Epoch
	_  [64]byte
}

func newActive(segments int, copies bool) *active {
	t := &active{segments: make([]segment, segments), copies: copies}
	for i := range t.segments {
		t.segments[i].of = map[uint64]epoch.Epoch{}
	}
	return t
}

func (t *active) enter(e epoch.Epoch) Handle {
	h := Handle{Epoch: e, id: t.ids.Add(1)}
	s := t.segment(h.id)
	s.Lock()
	defer s.Unlock()
	s.of[h.id] = e
	return h
}

func (t *active) leave(h Handle) {
	s := t.segment(h.id)
	s.Lock()
	defer s.Unlock()
	delete(s.of, h.id)
}

func (t *active) segment(id uint64) *segment { return &t.segments[id%uint64(len(t.segments))] }

func (t *active) lowest() epoch.Epoch {
	low := none
	for i := range t.segments {
		low = min(low, t.segments[i].lowest(t.copies))
	}
	return low
}

func (s *segment) lowest(copies bool) epoch.Epoch {
	low := none
	s.Lock()
	if !copies {
		defer s.Unlock()
		for _, e := range s.of {
			low = min(low, e)
		}
		return low
	}
	of := maps.Clone(s.of)
	s.Unlock()
	set := map[epoch.Epoch]struct{}{}
	for _, e := range of {
		set[e] = struct{}{}
	}
	for e := range set {
		low = min(low, e)
	}
	return low
}
