package gc

import "github.com/mvccmap/mvccmap/internal/invariant"

// Offer hands an item over for pruning and reports whether somebody else will
// take care of it. If not, the caller prunes it: the queue is full, closed, or
// there is no worker. Offer never waits. An item that waits already is not
// queued again; callers ask [Mark.Queued] first.
func (r *Reclaimer[E, V]) Offer(item E) bool {
	if r.workers == 0 || r.closed.Load() {
		return false
	}
	if !item.Mark().set(markQueued) {
		return true
	}
	if invariant.Enabled {
		r.ghost.offered.Add(1)
	}
	if !r.enqueue(item) {
		if invariant.Enabled {
			r.ghost.offered.Add(^uint64(0))
		}
		item.Mark().unset(markQueued)
		r.counters.fallbacks.Add(1)
		return false
	}
	// Must follow the enqueue: the ticker says that it parks, then looks at
	// the depth; see park.
	if d := r.depth.Add(1); r.parked.Load() || d == int64(r.capacity/2) {
		r.poke()
	}
	if r.closed.Load() {
		r.drainQueue(r.View(), r.depth.Load()) // Close may have drained before the enqueue
	}
	return true
}

// enqueue reports whether the queue took the item. The queue also refuses when
// another goroutine came first: then a few more tries are worth it.
func (r *Reclaimer[E, V]) enqueue(item E) bool {
	for range enqueueTries {
		if r.queue.TryEnqueue(item) {
			return true
		}
		if r.depth.Load() >= int64(r.capacity) {
			return false
		}
	}
	return false
}

const enqueueTries = 8

// Prune prunes an item here and now, with a new view, for a committer whose
// Offer was refused. What has to wait is set aside. It waits for nobody. After
// Close the callers do the ticker's work as well, one of them and at most once in
// an interval; that one waits for a refresh under way.
func (r *Reclaimer[E, V]) Prune(item E) {
	start := r.counters.fallbackRefreshes.begin()
	r.Refresh()
	r.counters.fallbackRefreshes.end(start)
	visit := Visit[V]{Waits: make([]Wait[V], 0, 8)}
	// If another goroutine was refreshing, the view is an old one, and what is
	// left waits for the next pass.
	r.prune(item, r.View(), &visit)
	r.setAside(item, &visit)
	if r.closed.Load() {
		now := int64(r.now())
		if last := r.passed.Load(); now-last >= int64(r.interval) && r.passed.CompareAndSwap(last, now) {
			r.pass()
		}
	}
}

// poke tells the ticker goroutine that there is work before the next tick.
func (r *Reclaimer[E, V]) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Wake starts the ticker if it is parked: there is something new to look at, though
// nothing to prune.
func (r *Reclaimer[E, V]) Wake() {
	if r.parked.Load() {
		r.poke()
	}
}
