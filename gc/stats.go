package gc

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
)

type counters struct {
	ticks     cause
	manual    cause
	commits   cause
	fallbacks atomic.Uint64
	parks     atomic.Uint64
	evicted   atomic.Uint64
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

// One in timedRefreshes of the refreshes by committers is timed: reading the clock twice would cost
// a third of such a refresh.
const timedRefreshes = 64

// begin counts a refresh by a committer, and starts timing it if it is to be
// timed.
func (c *cause) begin() (start time.Time) {
	if c.n.Add(1)%timedRefreshes == 1 {
		start = time.Now()
	}
	return start
}

// end ends the measurement that begin has started.
func (c *cause) end(start time.Time) {
	if !start.IsZero() {
		c.nanos.Add(timedRefreshes * uint64(max(time.Since(start), 0)))
	}
}

func (c *cause) load() Refreshes {
	return Refreshes{c.n.Load(), time.Duration(c.nanos.Load())}
}

// Refreshes says how often views were made for one reason, and how long it took
// in all.
type Refreshes struct {
	N    uint64
	Time time.Duration
}

// Stats has counts of the work that a reclaimer has done and of its pending work. Fields are read
// one after the other, not at one instant.
type Stats struct {
	// Bound and MinVisible are those of the newest view, LiveEpochs is the
	// number of its distinct live read epochs.
	Bound, MinVisible epoch.Epoch
	LiveEpochs        int
	// Pending is how many items wait to be visited, and Surplus how many superfluous versions these
	// items have in all: counted if the items are few, and else estimated from some of them.
	Pending, Surplus int
	// Aside is how many old versions are kept until an old read epoch ends.
	Aside int
	// TickRefreshes, CommitRefreshes and ManualRefreshes are the views made by ticks, by
	// committers, and by Reclaim. One in 64 of those by committers is timed.
	TickRefreshes, CommitRefreshes, ManualRefreshes Refreshes
	// Fallbacks counts items that were handed over when the queue was full and could
	// not be emptied into the list.
	Fallbacks uint64
	// Parks counts how often the ticker stopped because there was nothing to do.
	Parks uint64
	// Evicted counts transactions that were older than MaxAge.
	Evicted uint64
	// OldestPin is the oldest live read epoch that the last round saw, and
	// OldestPinAge for how long rounds have seen it; both are zero if there
	// was none.
	OldestPin    epoch.Epoch
	OldestPinAge time.Duration
	// Bytes is about the memory of the pending work.
	Bytes uint64
}

// Stats returns the present counts. It waits for nobody.
func (r *Reclaimer) Stats() Stats {
	v := r.View()
	s := Stats{
		Bound:           v.Bound,
		MinVisible:      v.Min,
		LiveEpochs:      v.Len(),
		Pending:         r.queue.size() + int(r.stock.items.Load()+r.stock.aside.Load()),
		Aside:           int(r.stock.waits.Load()),
		TickRefreshes:   r.counters.ticks.load(),
		CommitRefreshes: r.counters.commits.load(),
		ManualRefreshes: r.counters.manual.load(),
		Fallbacks:       r.counters.fallbacks.Load(),
		Parks:           r.counters.parks.Load(),
		Evicted:         r.counters.evicted.Load(),
	}
	if s.Pending > 0 {
		s.Surplus = r.estimate()
	}
	if p := r.oldest.Load(); p != nil {
		s.OldestPin = p.Epoch
		s.OldestPinAge = r.now() - p.Since
	}
	s.Bytes = uint64(s.Pending+s.Aside) * uint64(unsafe.Sizeof(Item{}))
	for i := range r.queue.rings {
		if r.queue.rings[i].Load() != nil {
			s.Bytes += uint64(r.queue.sizes[i]) * (ringCell + uint64(unsafe.Sizeof(Item{})))
		}
	}
	return s
}

// sampled is about how many items Stats asks for their superfluous versions: up to sampled of the
// queued items, and as many of the others.
const sampled = 128

// estimate returns about how many superfluous versions the items that wait to be visited have in
// all. It asks some of the items; it takes queued ones out for this, and puts them back. If the
// others are locked it uses their last average.
func (r *Reclaimer) estimate() int {
	n, sum := 0, 0
	items := make([]Item, sampled, 4*sampled)
	for ; n < sampled; n++ {
		item, ok := r.queue.take()
		if !ok {
			break
		}
		sum += r.cfg.Surplus(item)
		items[n] = item
	}
	if r.putBack(items[:n]); n > 0 {
		// The ticker may have found nothing while we had them in hand.
		r.wakeUp(false)
		sum = sum * max(r.queue.size(), n) / n
	}
	if !r.stock.mu.TryLock() {
		return sum + int(r.average.Load()*uint64(r.stock.items.Load()+r.stock.aside.Load())>>averageShift)
	}
	s := &r.stock
	all := int(s.items.Load() + s.aside.Load())
	items = items[:0]
	some := func(list []Item) {
		for i := 0; i < len(list); i += max(all/sampled, 1) {
			items = append(items, list[i])
		}
	}
	some(s.now[s.taken:])
	some(s.next)
	some(s.later)
	for i := range s.parked {
		some(s.parked[i].items)
	}
	s.mu.Unlock() // the rest takes longer than others should wait
	of := 0
	for _, item := range items {
		of += r.cfg.Surplus(item)
	}
	if n = len(items); n > 0 {
		r.average.Store(uint64(of) << averageShift / uint64(n))
		sum += of * all / n
	}
	return sum
}

// ringCell is the memory that a cell of xsync's queue takes beside the item.
const ringCell = 64
