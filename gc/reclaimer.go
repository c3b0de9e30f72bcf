package gc

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/epoch"
	hooked "github.com/mvccmap/mvccmap/internal/hooks/atomic"
)

// A Reclaimer makes views and drains the queue of keys to prune. Use
// [NewReclaimer]; all methods are safe for concurrent use.
type Reclaimer[E Item, V comparable] struct {
	ghost ghost

	slots    *epoch.Slots
	prune    func(E, *View, *Visit[V])
	release  func(V)
	caughtUp func(kept int) bool
	trim     func() bool
	// What the last pass has found: more to trim, something that the owner counts.
	trimming, unsettled atomic.Bool
	interval            time.Duration
	born                time.Time
	workers             int
	manual              bool
	queue               *xsync.MPMCQueue[E]
	capacity            int

	view   hooked.Pointer[View]
	parked atomic.Bool
	closed atomic.Bool
	passed atomic.Int64 // when, by now, the last pass by a committer was, after Close
	depth  atomic.Int64

	wake  chan struct{} // capacity 1: the ticker goroutine has work
	drain chan *View    // one view for each further worker that shall drain
	stop  chan struct{}
	wg    sync.WaitGroup
	once  sync.Once

	// refreshing is held while a view is made, so that not everybody does it at
	// once. Nothing else depends on it but the fields below, and the notes
	// that [epoch.Slots.Pins] makes.
	refreshing sync.Mutex
	scratch    []uint64 // guarded by refreshing

	// oldest is the oldest pin that the last pass saw, nil if there was none.
	oldest  atomic.Pointer[pin]
	maxAge  time.Duration
	warnAge time.Duration
	logger  *slog.Logger
	logging atomic.Bool

	aside aside[E, V]

	counters counters
}

// NewReclaimer starts the goroutines of a reclaimer: one for the ticker, which
// also is the first worker, and Workers-1 more; none if it is manual. Close ends
// them.
func NewReclaimer[E Item, V comparable](cfg Config[E, V]) *Reclaimer[E, V] {
	r := &Reclaimer[E, V]{
		slots:    cfg.Slots,
		prune:    cfg.Prune,
		release:  cfg.Release,
		caughtUp: cfg.CaughtUp,
		trim:     cfg.Trim,
		interval: cfg.Interval,
		born:     time.Now(),
		workers:  max(cfg.Workers, 0),
		manual:   cfg.Manual,
		capacity: cfg.Queue,
		maxAge:   cfg.MaxAge,
		warnAge:  cfg.WarnAge,
		logger:   cfg.Logger,
		wake:     make(chan struct{}, 1),
		stop:     make(chan struct{}),
	}
	if r.interval <= 0 {
		r.interval = DefaultInterval
	}
	if r.capacity <= 0 {
		r.capacity = DefaultQueue
	}
	if r.warnAge <= 0 {
		r.warnAge = DefaultWarnAge
	}
	if r.workers > 0 {
		r.queue = xsync.NewMPMCQueue[E](r.capacity)
		r.drain = make(chan *View, r.workers)
	}
	r.refresh()
	if r.manual {
		return r
	}
	r.wg.Go(r.tick)
	for range r.workers - 1 {
		r.wg.Go(r.work)
	}
	return r
}

// Reclaim makes a view and does, in the calling goroutine, all the background
// work there is when it is called: it evicts, prunes what is queued, and visits
// what waited for read epochs that have ended. Keys that committers hand over
// meanwhile may be left. It is what a manual reclaimer's owner calls now and
// then; others may call it as well. It returns ctx's error if ctx ends before all
// is done; what is left stays for the next time.
func (r *Reclaimer[E, V]) Reclaim(ctx context.Context) error {
	view := r.renew(&r.counters.manual)
	for n := r.depth.Load(); n > 0; n -= asideBatch {
		if err := ctx.Err(); err != nil {
			return err
		}
		r.drainQueue(view, min(n, asideBatch))
	}
	for more := true; more; more = r.visitDue() {
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	r.rested()
	return nil
}

// Stop tells all goroutines to end and returns at once. It may be called any
// number of times.
func (r *Reclaimer[E, V]) Stop() {
	r.once.Do(func() {
		r.closed.Store(true)
		if !r.manual { // else nobody listens
			close(r.stop)
		}
	})
}

// Close ends all goroutines, waits for them, also for the Logger if it is just
// being told something, and prunes what was queued. Afterwards Offer returns
// false, and committers prune: each the item it wrote, and now and then what was
// set aside.
func (r *Reclaimer[E, V]) Close() {
	r.Stop()
	r.wg.Wait()
	for r.pass() {
	}
}
