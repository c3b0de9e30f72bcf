package gc

// The calls of committers.

// Offer hands over an item whose mark the caller has just set, since versions of it will be
// superfluous. The background work visits it at the next tick or the one after that. If the queue
// is full and much is left from before, or there are no workers, the caller itself visits some
// items that were handed over before: so cleaning up keeps pace with the writers that make it
// necessary. Offer waits for nobody.
func (r *Reclaimer) Offer(item Item) {
	r.queue.put(item)
	depth := r.queue.size()
	switch {
	case r.closed.Load():
		if depth+int(r.stock.items.Load()) > aloneDepth || r.stock.waits.Load() > 0 {
			r.help()
		}
	case r.late.Load():
		r.counters.fallbacks.Add(1)
		r.help()
	case r.cfg.Workers <= 0:
		if depth > aloneDepth {
			r.help()
		}
	case depth > r.cfg.Queue && !r.makeRoom():
		r.counters.fallbacks.Add(1)
		r.help()
	}
	// Must follow the put: a ticker that stops says so, and only then looks at the queue.
	r.wakeUp(depth > r.cfg.Queue/2)
}

// makeRoom moves some of the queue into the list of the next tick, as absorb does when its
// goroutine gets its turn. It returns false if the list is very long, or is locked: the holder of
// the lock may be asleep.
func (r *Reclaimer) makeRoom() bool {
	return r.room() && r.stock.tryAbsorb(&r.queue, batchSize)
}

// room reports whether the list is short enough to take more of the queue.
func (r *Reclaimer) room() bool {
	return !r.cfg.Manual && r.stock.items.Load() < absorbLimit*int64(r.cfg.Queue)
}

// absorbLimit says, in lengths of the queue, how long the list may be for the queue still to be
// emptied into it.
const absorbLimit = 64

// aloneDepth is how many items may wait where there are no workers. Some have to: an item cannot be
// pruned down before other transactions have ended, and views are only made from time to time.
const aloneDepth = 64

// helpVisits is how many items a committer visits for each item that it hands over. helpStride is
// how many epochs old its view may be. So somewhat more than helpStride items wait that cannot be
// pruned down yet, and the other items go twice as fast as new ones come.
const (
	helpVisits = 2
	helpStride = 128
)

// help visits some of the items that are queued, or that a tick would visit if there were one.
func (r *Reclaimer) help() {
	if r.closed.Load() {
		r.passAlone()
	}
	r.some(r.RefreshPast(r.cfg.Slots.Now(), helpStride), helpVisits)
}

// some visits n items that wait: if no ticks come, first those that a tick would visit.
func (r *Reclaimer) some(view *View, n int) {
	items := r.queue.unspill()
	if r.isAlone() {
		items = r.stock.tryTake(items, n)
	}
	for len(items) < n {
		item, ok := r.queue.take()
		if !ok {
			break
		}
		items = append(items, item)
	}
	if len(items) > 0 {
		r.visitAlone(items, view)
	}
}

// visitAlone visits items for a committer, see also [pass.visit].
func (r *Reclaimer) visitAlone(items []Item, view *View) {
	found, done := Found{Alone: true}, false
	defer func() {
		if !done {
			found.Again = append(found.Again, items...)
		}
		if at := r.history.lot(r.cfg.Slots); at.until != 0 && r.stock.mu.TryLock() {
			r.stock.park(found.Again, at)
			r.stock.mu.Unlock()
		} else {
			r.putBack(found.Again)
		}
		r.putBack(found.Later)
	}()
	r.cfg.Visit(items, view, &found)
	done = true
}

// putBack hands items over again.
func (r *Reclaimer) putBack(items []Item) {
	for _, item := range items {
		r.queue.put(item)
	}
}

// Wake starts the ticker if it has stopped: there is something to tend or to trim, though nothing
// to prune. It waits for nobody.
func (r *Reclaimer) Wake() {
	r.pending.Store(true)
	r.wakeUp(false)
}

// wakeUp starts the ticker if it has stopped. If it runs and poke is set, wakeUp has room made in
// the queue.
func (r *Reclaimer) wakeUp(poke bool) {
	if !r.running.Load() {
		r.start()
	} else if poke && r.room() && !r.poked.Load() && r.poked.CompareAndSwap(false, true) &&
		!r.Go(r.absorb) {
		r.poked.Store(false)
	}
}
