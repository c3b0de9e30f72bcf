package gc

import (
	"time"

	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// tick is the ticker goroutine: at each tick, or when the queue is half full, it
// makes a view and has the queue drained.
func (r *Reclaimer[E, V]) tick() {
	t := time.NewTicker(r.interval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-r.wake:
		case <-r.stop:
			return
		}
		if r.pass() {
			r.poke() // there is more, but see to the queue first
		} else if r.quiet() && !r.park(t) {
			return
		}
	}
}

// work is every worker but the first: it drains the queue, and visits what is due,
// when it is told to.
func (r *Reclaimer[E, V]) work() {
	for {
		select {
		case view := <-r.drain:
			r.drainQueue(view, r.depth.Load())
			for range passBatches {
				if !r.visitDue() {
					break
				}
			}
		case <-r.stop:
			return
		}
	}
}

// passBatches is up to how many batches of what is due a pass visits, and passTime
// for how long: then the queue is looked at again.
const (
	passBatches = 64
	passTime    = 20 * time.Millisecond
)

// pass makes a view, lets all workers drain the queue, and visits what is due. It
// reports whether more is due than it has visited.
func (r *Reclaimer[E, V]) pass() (more bool) {
	view := r.renew(&r.counters.ticks)
	if !r.manual {
		for range r.workers - 1 {
			select {
			case r.drain <- view:
			default: // busy still, with an older view
			}
		}
	}
	if r.workers > 0 {
		r.drainQueue(view, r.depth.Load())
	}
	start := r.now()
	for n := 0; n < passBatches && r.now()-start < passTime; n++ {
		if !r.visitDue() {
			r.rested()
			return false
		}
	}
	return true
}

// rested tells the owner that the queue is empty, if it is, and nothing due.
func (r *Reclaimer[E, V]) rested() {
	if r.caughtUp != nil && r.depth.Load() <= 0 {
		r.unsettled.Store(!r.caughtUp(int(r.aside.kept.Load())))
	}
}

// drainQueue prunes up to n of the items that are queued.
func (r *Reclaimer[E, V]) drainQueue(view *View, n int64) {
	var visit Visit[V]
	for range n {
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
		r.visit(item, view, &visit)
	}
}

// visitDue visits a batch of what is due, and reports whether there was any. First
// the waits of all its versions are ended, then each item is pruned once, so that it
// does not matter how many versions of it are due.
func (r *Reclaimer[E, V]) visitDue() bool {
	var items [asideBatch]E
	var versions [asideBatch]V
	due := batch[E, V]{items[:0], versions[:0]}
	if r.aside.take(&due); len(due.items) == 0 {
		return false
	}
	for _, v := range due.versions {
		r.release(v)
	}
	view := r.View()
	var visit Visit[V]
	seen := make(map[E]struct{}, len(due.items))
	for _, item := range due.items {
		if _, twice := seen[item]; !twice {
			seen[item] = struct{}{}
			r.visit(item, view, &visit)
		}
	}
	return true
}

// visit prunes one item that is not queued, and puts it where it belongs. It
// leaves visit as it was made, with room.
func (r *Reclaimer[E, V]) visit(item E, view *View, visit *Visit[V]) {
	r.prune(item, view, visit)
	if visit.Left && r.Offer(item) {
		visit.Left = false
	}
	if visit.Left {
		// Versions above the bound are left, whose committers may have found
		// the item queued and rely on us, and it cannot be queued. The bound
		// of a view made now is above them: versions above that one were
		// drawn after the mark was taken off, and their committers see it.
		r.refreshing.Lock()
		view = r.refresh()
		r.refreshing.Unlock()
		r.prune(item, view, visit)
		visit.Left = false
	}
	r.setAside(item, visit)
	*visit = Visit[V]{Waits: visit.Waits[:0]}
}

// setAside keeps an item as visit says.
func (r *Reclaimer[E, V]) setAside(item E, visit *Visit[V]) {
	if len(visit.Waits) == 0 && !visit.Left || !r.aside.put(item, visit) {
		return
	}
	// Must follow the put: the ticker says that it parks, then looks at the
	// count.
	if r.parked.Load() {
		r.poke()
	}
}

// quiet reports whether nothing is live, queued or set aside, nor anything left to
// trim or to count.
func (r *Reclaimer[E, V]) quiet() bool {
	return r.oldest.Load() == nil && r.depth.Load() <= 0 && r.aside.count.Load() <= 0 &&
		!r.trimming.Load() && !r.unsettled.Load()
}

// park waits, without a running ticker, until an item is offered. It reports
// whether the reclaimer goes on.
func (r *Reclaimer[E, V]) park(t *time.Ticker) bool {
	t.Stop()
	r.parked.Store(true)
	defer r.parked.Store(false)
	if hooks.Enabled {
		hooks.At(hooks.Parking)
	}
	// Must follow the store: whoever has found us not parked has counted its
	// item, or set it aside, before, and that is seen here.
	if r.aside.count.Load() <= 0 && r.depth.Load() <= 0 {
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
