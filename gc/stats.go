package gc

import (
	"sync/atomic"
	"time"
)

type counters struct {
	tickRefreshes   atomic.Uint64
	commitRefreshes atomic.Uint64
	refreshNanos    atomic.Uint64
	fallbacks       atomic.Uint64
	parks           atomic.Uint64
}

// Stats is what a reclaimer has done and what it has before it. Fields are read
// one after the other, not at one instant.
type Stats struct {
	// Bound and MinVisible are those of the newest view, LiveEpochs is the
	// number of its distinct live read epochs.
	Bound, MinVisible uint64
	LiveEpochs        int
	// QueueDepth is how many items wait, Aside how many are set aside until a
	// read epoch ends.
	QueueDepth, Aside int
	// TickRefreshes and CommitRefreshes count the views made by the ticker and
	// asked for by committers; RefreshTime is what the ticker's took.
	TickRefreshes, CommitRefreshes uint64
	RefreshTime                    time.Duration
	// Fallbacks counts items that were refused because the queue was full.
	Fallbacks uint64
	// Parks counts how often the ticker stopped because there was nothing to do.
	Parks uint64
	// OldestPin is the oldest live read epoch that the last tick saw, and
	// OldestPinAge for how long ticks have seen it; both are zero if there
	// was none.
	OldestPin    uint64
	OldestPinAge time.Duration
}

// Stats returns the present counts. It takes a mutex for a few instructions,
// and waits for no refresh under way.
func (r *Reclaimer[E]) Stats() Stats {
	v := r.View()
	s := Stats{
		Bound:           v.Bound,
		MinVisible:      v.Min(),
		LiveEpochs:      len(v.Live),
		QueueDepth:      int(max(r.depth.Load(), 0)),
		TickRefreshes:   r.counters.tickRefreshes.Load(),
		CommitRefreshes: r.counters.commitRefreshes.Load(),
		RefreshTime:     time.Duration(r.counters.refreshNanos.Load()),
		Fallbacks:       r.counters.fallbacks.Load(),
		Parks:           r.counters.parks.Load(),
	}
	r.asideMu.Lock()
	s.Aside = len(r.aside)
	r.asideMu.Unlock()
	if p := r.oldest.Load(); p != nil {
		s.OldestPin = p.epoch
		s.OldestPinAge = time.Duration(time.Now().UnixNano() - p.since)
	}
	return s
}
