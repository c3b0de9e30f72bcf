package profiling

import (
	"slices"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/profiling/contention"
)

// A capture is one profile taken for the browser. It is immutable.
type capture struct {
	ID     int
	Kind   string // name of a kind
	Phase  string // what ran, "" if unknown
	Label  string // given by who took it, may be ""
	Start  time.Time
	Window time.Duration // 0: a snapshot, or everything since the program started
	Empty  bool          // nothing was sampled
	Data   []byte        // gzipped profile

	Report *contention.Report // what Data was made from, if it is about contention
}

// A history is a bounded list of captures. Its methods may be called from
// several goroutines.
type history struct {
	limit int

	mu   sync.Mutex
	last int        // the newest ID; IDs count from 1 and are never reused
	list []*capture // oldest first
}

// add gives c the next ID and stores it, dropping the oldest capture if the
// history is full.
func (h *history) add(c *capture) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	c.ID = h.last
	if len(h.list) >= h.limit {
		h.list = slices.Delete(h.list, 0, len(h.list)-h.limit+1)
	}
	h.list = append(h.list, c)
}

// get returns the capture with the given ID, or nil. gone tells that there was
// one.
func (h *history) get(id int) (c *capture, gone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.list {
		if c.ID == id {
			return c, false
		}
	}
	return nil, 0 < id && id <= h.last
}

// newestFirst returns the captures in the order in which they are shown.
func (h *history) newestFirst() []*capture {
	h.mu.Lock()
	list := slices.Clone(h.list)
	h.mu.Unlock()
	slices.Reverse(list)
	return list
}
