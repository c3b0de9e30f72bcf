package gc

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// How much a tick visits beside writers that do not rest: one item for every
// visitShare epochs that were drawn since the last tick, but minVisits in any case. So
// the processor time of reclaiming is bounded by that of writing. When
// fewer epochs were drawn than one for every restShare of the items, a tick visits all.
//
// An item not visited stays: an item is in the list once, so the list is bounded by
// the items that have more than one version, and writers trim their chains. Items
// that turn out to be gone do not count: nobody trims these, and ever new ones may come
// as fast as the clock goes.
const (
	visitShare = 8
	minVisits  = 16384
	restShare  = 64
)

// A pass is one tick's work on the items, by one goroutine or several.
type pass struct {
	r     *Reclaimer
	view  *View
	quota atomic.Int64 // how many more items may be taken
}

// gather returns a pass with view over the items to be visited: all of them, or
// the share of a tick. r.gathering is held.
func (r *Reclaimer) gather(view *View, all bool) *pass {
	p := &pass{r: r, view: view}
	r.stock.sift(r.cfg.Stale)
	reached := view.Bound
	if all {
		reached = math.MaxUint64
	}
	r.stock.mu.Lock()
	shelves := r.stock.due(view, math.MaxInt)
	n := r.stock.turn(r.queue.drain, all, reached)
	r.stock.mu.Unlock()
	for _, shelf := range shelves {
		items := r.cfg.Due(shelf, nil)
		r.stock.add(items)
		n += len(items)
	}
	now := r.cfg.Slots.Now()
	drawn := now - r.drawn
	r.drawn = now
	quota := uint64(n)
	if !all && uint64(drawn) >= quota/restShare {
		quota = min(quota, max(minVisits, uint64(drawn)/visitShare))
	}
	p.quota.Store(int64(quota))
	return p
}

// work visits items until the quota is used up, or ctx ends: then it returns
// ctx's error.
func (p *pass) work(ctx context.Context) error {
	r := p.r
	var found Found
	batch := make([]Item, 0, batchSize)
	for p.quota.Add(-batchSize) > -batchSize {
		if err := ctx.Err(); err != nil {
			return err
		}
		if batch = r.stock.take(batch[:0], batchSize); len(batch) == 0 {
			break
		}
		hooks.At(hooks.Dequeued)
		p.visit(batch, &found)
		p.quota.Add(int64(found.Gone))
		found.reset()
		clear(batch)
	}
	return nil
}

// visit visits items, and keeps the findings. If a panic or runtime.Goexit ends the visit, all of
// the items are to be visited again.
func (p *pass) visit(items []Item, found *Found) {
	r, done := p.r, false
	defer func() {
		if !done {
			found.Again = append(found.Again, items...)
		}
		r.stock.put(found, r.history.lot(r.cfg.Slots))
		if !done {
			r.wakeUp(false)
		}
	}()
	r.cfg.Visit(items, p.view, found)
	done = true
}

// tick is the work of each tick.
func (r *Reclaimer) tick() {
	r.passing.Lock()
	defer r.passing.Unlock()
	p, more := r.begin(&r.counters.ticks, false, r.cfg.Tend)
	var others sync.WaitGroup
	defer others.Wait() // also if a function of the user ends the goroutine
	for range min(r.cfg.Workers, int(p.quota.Load()/batchSize)) - 1 {
		others.Go(func() { r.within.Run(func() { _ = p.work(context.Background()) }) })
	}
	_ = p.work(context.Background())
	others.Wait()
	if r.cfg.Tend() || more { // items visited may be gone
		r.pending.Store(true)
	}
	r.inTime()
}

// begin tends, by tend, makes a view for the given cause, and trims. It returns a pass over the
// items to be visited, all or a share of them, see gather, and whether there is more to tend or trim.
func (r *Reclaimer) begin(
	cause *cause, all bool, tend func() bool,
) (p *pass, more bool) {
	r.pending.Store(false) // must precede the work: Wake may be called meanwhile
	more = tend()
	view := r.renew(cause)
	return r.gatherPass(view, all), r.cfg.Trim() || more
}

// gatherPass is gather with the lock held. A panic of the program's compare may end it.
func (r *Reclaimer) gatherPass(view *View, all bool) *pass {
	r.gathering.Lock()
	defer r.gathering.Unlock()
	return r.gather(view, all)
}

// tendAll tends until nothing is left, or ctx ends: then it returns true, since there may be more.
func (r *Reclaimer) tendAll(ctx context.Context) (more bool) {
	for ctx.Err() == nil {
		if !r.cfg.Tend() {
			return false
		}
	}
	return true
}

// Reclaim makes a view and does, in the calling goroutine, all the background
// work there is when it is called: it evicts, and visits the items handed over and
// those that waited for read epochs now ended. Items that committers hand over
// meanwhile are visited the next time, and so are those left when ctx ends: then
// Reclaim returns ctx's error. It waits for a tick, or another Reclaim, that is under
// way.
func (r *Reclaimer) Reclaim(ctx context.Context) (err error) {
	r.Outside("Reclaim")
	r.within.Run(func() { err = r.reclaim(ctx) })
	return err
}

func (r *Reclaimer) reclaim(ctx context.Context) error {
	r.passing.Lock()
	defer r.passing.Unlock()
	p, more := r.begin(&r.counters.manual, true, func() bool { return r.tendAll(ctx) })
	err := p.work(ctx)
	if err == nil && r.tendAll(ctx) { // items visited may be gone
		more, err = true, ctx.Err()
	}
	if more {
		r.pending.Store(true)
	}
	switch {
	case !r.unused():
		// The ticker may have found nothing while we had it in hand.
		r.wakeUp(false)
	case r.cfg.Manual:
		r.stock.clear(&r.queue)
	}
	return err
}

// Where no tick comes, a committer that makes a view visits aloneVisits items. Once in an interval
// it also ends up to aloneWaits waits.
const (
	aloneVisits = 64
	aloneWaits  = 4096
)

// If no tick has ended for lateTicks intervals, committers do the work of ticks.
const lateTicks = 2

// noticeLate reports whether no tick has ended for long: beside many goroutines that never rest the
// ticker gets a hundredth of a processor, and may need more. It keeps the answer in r.late, since
// it is called only from time to time.
func (r *Reclaimer) noticeLate() bool {
	late := !r.cfg.Manual && r.running.Load() &&
		int64(r.now())-r.ticked.Load() > lateTicks*int64(r.cfg.Interval)
	if r.late.Load() != late {
		r.late.Store(late)
	}
	return late
}

// inTime notes that the ticker waits for its next tick from now on.
func (r *Reclaimer) inTime() {
	r.ticked.Store(int64(r.now()))
	r.late.Store(false)
}

// isAlone reports whether committers do the work of ticks: after Close, and when these are late.
func (r *Reclaimer) isAlone() bool { return r.late.Load() || r.closed.Load() }

// passAlone does the committers' part of a tick where no tick comes, without the visits. It works
// for one committer at a time, and once in an interval. It waits for nobody. Until Close, the only
// functions of the user that it calls are those that compare keys.
func (r *Reclaimer) passAlone() {
	now := int64(r.now())
	last := r.passed.Load()
	if now-last < int64(r.cfg.Interval) || !r.passed.CompareAndSwap(last, now) || !r.tryLock() {
		return
	}
	notices := r.round(r.now(), false)
	r.history.divide(r.now(), r.cfg.Slots)
	view := r.refresh()
	r.unlock()
	r.tell(notices, r.now(), r.Go)
	r.within.Run(func() {
		for _, shelf := range r.gatherAlone(view) {
			r.putBack(r.cfg.Due(shelf, nil)) // holding no lock: keys are compared
		}
		if r.closed.Load() {
			r.cfg.Tend()
			r.cfg.Trim()
		}
	})
}

// gatherAlone is gather for a committer: it returns up to aloneWaits waits that have come due. It
// does nothing if another goroutine, which may be asleep, is gathering.
func (r *Reclaimer) gatherAlone(view *View) (shelves [][]Item) {
	if !r.gathering.TryLock() {
		return nil
	}
	defer r.gathering.Unlock()
	if !r.stock.mu.TryLock() {
		return nil
	}
	defer r.stock.mu.Unlock()
	shelves = r.stock.due(view, aloneWaits)
	r.stock.turn(r.queue.drain, true, view.Bound)
	return shelves
}
