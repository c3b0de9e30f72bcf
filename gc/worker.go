package gc

import (
	"time"

	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// tick is the ticker goroutine: at each tick, or when the queue is half full, it
// makes a view and has the queue drained.
func (r *Reclaimer[E]) tick() {
	t := time.NewTicker(r.interval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-r.wake:
		case <-r.stop:
			return
		}
		r.pass()
		if r.quiet() && !r.park(t) {
			return
		}
	}
}

// work is every worker but the first: it drains the queue when it is told to.
func (r *Reclaimer[E]) work() {
	for {
		select {
		case view := <-r.drain:
			r.drainQueue(view)
		case <-r.stop:
			return
		}
	}
}

// pass makes a view, lets all workers drain the queue, and looks again at what
// was set aside if a read epoch has ended since the last pass.
func (r *Reclaimer[E]) pass() {
	start := time.Now()
	r.refreshing.Lock()
	old := r.last.Load()
	view := r.refresh()
	r.last.Store(view)
	var oldest *pin
	if e, since, live := r.slots.Oldest(start.UnixNano()); live {
		oldest = &pin{e, since}
	}
	r.oldest.Store(oldest)
	r.refreshing.Unlock()
	r.counters.tickRefreshes.Add(1)
	r.counters.refreshNanos.Add(uint64(max(time.Since(start), 0)))

	for range r.workers - 1 {
		select {
		case r.drain <- view:
		default: // busy still, with an older view
		}
	}
	if r.workers > 0 {
		r.drainQueue(view)
	}
	if r.overdue.Swap(false) || view.ended(old) {
		r.revisit(view)
	}
}

// drainQueue prunes as many items as were queued when it was called.
func (r *Reclaimer[E]) drainQueue(view *View) {
	for range r.depth.Load() {
		item, ok := r.queue.TryDequeue()
		if !ok {
			continue // another worker came first, or took the rest
		}
		r.depth.Add(-1)
		if invariant.Enabled {
			r.checkDequeued()
		}
		// Must precede the prune: a committer that finds the mark set relies
		// on a prune that sees its version.
		item.Mark().unset(markQueued)
		if hooks.Enabled {
			hooks.At(hooks.Dequeued)
		}
		r.do(item, view)
	}
}

// do prunes one item that is not queued, and puts it where it belongs.
func (r *Reclaimer[E]) do(item E, view *View) {
	outcome := r.prune(item, view)
	if outcome == Later && !r.Offer(item) {
		// Versions above the bound are left, whose committers may have found
		// the item queued and rely on us, and it cannot be queued. The bound
		// of a view made now is above them: versions above that one were
		// drawn after the mark was taken off, and their committers see it.
		r.refreshing.Lock()
		view = r.refresh()
		r.refreshing.Unlock()
		outcome = r.prune(item, view)
	}
	if outcome == Blocked {
		r.setAside(item, view)
	}
}

// setAside keeps an item, which was pruned with view, until a read epoch has
// ended. The next pass sees that an epoch of view has ended if view is that of
// the last pass; otherwise it is told not to rely on it.
func (r *Reclaimer[E]) setAside(item E, view *View) {
	if item.Mark().set(markAside) {
		r.asideMu.Lock()
		r.aside = append(r.aside, item)
		r.asideMu.Unlock()
	}
	// Must follow the append: a pass that took the list before it has stored
	// its own view before that.
	if r.last.Load() != view {
		r.overdue.Store(true)
	}
	// Must follow too: the ticker says that it parks, then looks at the list.
	if r.parked.Load() {
		r.poke()
	}
}

// revisit prunes everything that was set aside.
func (r *Reclaimer[E]) revisit(view *View) {
	r.asideMu.Lock()
	items := r.aside
	r.aside = nil
	r.asideMu.Unlock()
	for _, item := range items {
		item.Mark().unset(markAside)
		r.do(item, view)
	}
}

// quiet reports whether nothing is live, queued or set aside.
func (r *Reclaimer[E]) quiet() bool {
	if r.oldest.Load() != nil || r.depth.Load() > 0 {
		return false
	}
	r.asideMu.Lock()
	defer r.asideMu.Unlock()
	return len(r.aside) == 0
}

// park waits, without a running ticker, until an item is offered. It reports
// whether the reclaimer goes on.
func (r *Reclaimer[E]) park(t *time.Ticker) bool {
	t.Stop()
	r.parked.Store(true)
	defer r.parked.Store(false)
	if hooks.Enabled {
		hooks.At(hooks.Parking)
	}
	// Must follow the store: whoever has found us not parked has counted its
	// item, or set it aside, before, and that is seen here.
	r.asideMu.Lock()
	none := len(r.aside) == 0
	r.asideMu.Unlock()
	if none && r.depth.Load() <= 0 {
		r.counters.parks.Add(1)
		select {
		case <-r.wake:
		case <-r.stop:
			return false
		}
	}
	t.Reset(r.interval)
	return true
}
