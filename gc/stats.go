package gc

import (
	"sync/atomic"
	"time"
)

type counters struct {
	ticks             cause
	manual            cause
	commits           cause
	fallbackRefreshes cause
	fallbacks         atomic.Uint64
	parks             atomic.Uint64
	evicted           atomic.Uint64
}

// A cause counts the refreshes for one reason, and adds up how long they took.
type cause struct {
	n     atomic.Uint64
	nanos atomic.Uint64
}

func (c *cause) add(n uint64, took time.Duration) {
	c.n.Add(n)
	c.nanos.Add(n * uint64(max(took, 0)))
}

// timedRefreshes is of how many refreshes by committers one is timed: reading the
// clock twice would cost a third of such a refresh.
const timedRefreshes = 64

// begin counts a refresh by a committer, and starts timing it if it is to be
// timed.
func (c *cause) begin() (start time.Time) {
	if c.n.Add(1)%timedRefreshes == 1 {
		start = time.Now()
	}
	return start
}

// end ends what begin has started.
func (c *cause) end(start time.Time) {
	if !start.IsZero() {
		c.nanos.Add(timedRefreshes * uint64(max(time.Since(start), 0)))
	}
}

func (c *cause) load() Refreshes {
	return Refreshes{c.n.Load(), time.Duration(c.nanos.Load())}
}

// Refreshes says how often views were made for one reason, and what it took in
// all.
type Refreshes struct {
	N    uint64
	Time time.Duration
}

// Stats is what a reclaimer has done and what it has before it. Fields are read
// one after the other, not at one instant.
type Stats struct {
	// Bound and MinVisible are those of the newest view, LiveEpochs is the
	// number of its distinct live read epochs.
	Bound, MinVisible uint64
	LiveEpochs        int
	// QueueDepth is how many items wait to be pruned. Aside is how many waits
	// there are for a read epoch to end: one for each old version that is
	// kept, and for each item of which only a tombstone is.
	QueueDepth, Aside int
	// Kept is how many of these are old versions.
	Kept int
	// Refreshes are the views made by the ticker, by committers that added to
	// a chain, by those that pruned because the queue was full or there was
	// none, and by Reclaim. Of those of committers one in 64 is timed.
	TickRefreshes, CommitRefreshes, FallbackRefreshes, ManualRefreshes Refreshes
	// Fallbacks counts items that were refused because the queue was full.
	Fallbacks uint64
	// Parks counts how often the ticker stopped because there was nothing to do.
	Parks uint64
	// Evicted counts transactions that were older than MaxAge.
	Evicted uint64
	// OldestPin is the oldest live read epoch that the last pass saw, and
	// OldestPinAge for how long passes have seen it; both are zero if there
	// was none.
	OldestPin    uint64
	OldestPinAge time.Duration
}

// Stats returns the present counts. It waits for nobody.
func (r *Reclaimer[E, V]) Stats() Stats {
	v := r.View()
	s := Stats{
		Bound:             v.Bound,
		MinVisible:        v.Min(),
		LiveEpochs:        len(v.Live),
		QueueDepth:        int(max(r.depth.Load(), 0)),
		Aside:             int(max(r.aside.count.Load(), 0)),
		Kept:              int(max(r.aside.kept.Load(), 0)),
		TickRefreshes:     r.counters.ticks.load(),
		CommitRefreshes:   r.counters.commits.load(),
		FallbackRefreshes: r.counters.fallbackRefreshes.load(),
		ManualRefreshes:   r.counters.manual.load(),
		Fallbacks:         r.counters.fallbacks.Load(),
		Parks:             r.counters.parks.Load(),
		Evicted:           r.counters.evicted.Load(),
	}
	if p := r.oldest.Load(); p != nil {
		s.OldestPin = p.epoch
		s.OldestPinAge = r.now() - p.since
	}
	return s
}
