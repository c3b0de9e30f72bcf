package gc

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/goid"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	hooked "github.com/mvccmap/mvccmap/internal/debug/hooks/atomic"
)

// A Reclaimer makes views and has items visited whose versions are to be dropped. Use
// [NewReclaimer]; all methods are safe for concurrent use.
type Reclaimer struct {
	// Committers read these all the time; only the view changes.
	view   hooked.Pointer[View]
	cfg    Config // with defaults filled in
	closed atomic.Bool
	poked  atomic.Bool // the queue is half full, and a goroutine makes room
	born   time.Time

	ended   atomic.Int64 // when, by now, it was closed; or 0
	logging atomic.Bool

	queue queue

	// refreshing is held while a view is made, so that not everybody makes one at once. It guards
	// only scratch, history, and the rounds of slots.
	refreshing sync.Mutex
	scratch    []epoch.Epoch
	history    retention

	// passing is held by the goroutine that does the work of a tick, and gathering while the items
	// of a tick are gathered, which committers do as well, see passAlone.
	passing, gathering sync.Mutex
	stock              stock
	drawn              epoch.Epoch   // the clock at the last pass; guarded by gathering
	passed             atomic.Int64  // when, by now, the last pass of a committer was
	ticked             atomic.Int64  // when the ticker began to wait for a tick
	late               atomic.Bool   // see noticeLate
	average            atomic.Uint64 // of Surplus at the last Stats, in units of 2^-16
	pending            atomic.Bool   // there is more to trim or to tend, or Wake was called

	// oldest is the oldest pin that the last round saw, nil if there was none.
	oldest atomic.Pointer[epoch.Pin]

	life    sync.Mutex     // held to start, to end and to close: a few instructions
	running atomic.Bool    // there is a ticker, or there is to be none
	timer   *time.Timer    // of the ticker; guarded by life
	bubbled bool           // the timer is of a bubble of testing/synctest; guarded by life
	wg      sync.WaitGroup // the goroutines, and the ticker: see run
	within  goid.Set       // the goroutines that do background work, see Outside

	counters counters
}

// NewReclaimer returns a reclaimer. Its ticker is started when there is something
// to do, and ends when there is not; with Retain there always is. Close ends it for good.
func NewReclaimer(cfg Config) *Reclaimer {
	if cfg.Interval <= 0 {
		cfg.Interval = DefaultInterval
	}
	if cfg.WarnAge <= 0 {
		cfg.WarnAge = DefaultWarnAge
	}
	if cfg.Queue <= 0 {
		cfg.Queue = DefaultQueue
	}
	// A callback that is not set answers false.
	none := func() bool { return false }
	if cfg.Trim == nil {
		cfg.Trim = none
	}
	if cfg.Tend == nil {
		cfg.Tend = none
	}
	r := &Reclaimer{cfg: cfg, born: time.Now()}
	r.queue.init(cfg.Queue)
	r.average.Store(1 << averageShift)
	r.running.Store(r.cfg.Manual) // then nobody starts one
	r.history.begin(cfg.Retain, cfg.Slots)
	r.refresh()
	if cfg.Retain > 0 {
		r.start() // the time of each epoch is noted
	}
	return r
}

// start starts the ticker, unless there is one or the reclaimer is closed.
func (r *Reclaimer) start() {
	// The holder of the lock starts the ticker as well, or has closed the reclaimer, or looks for
	// work again once it has let the lock go.
	if !r.life.TryLock() {
		return
	}
	defer r.life.Unlock()
	if !r.running.Load() {
		r.running.Store(true)
		if !r.closed.Load() {
			r.inTime()
			r.wg.Add(1)
			r.bubbled = goid.InBubble()
			r.timer = time.AfterFunc(r.cfg.Interval, r.run)
		}
	}
}

// run is a call of the ticker, which is a timer: no goroutine waits between two ticks. From start
// to the end of the ticker the timer is set, or one goroutine is in run; r.wg counts the ticker as
// 1. Stop takes the 1 back if it stops the timer in time, and else the last call of run does.
func (r *Reclaimer) run() {
	began := r.now()
	defer func() { // a function of the program may have ended the goroutine
		if !r.setAgain(began) {
			r.wg.Done()
		}
	}()
	if !r.closed.Load() {
		r.within.Run(r.tick)
	}
}

// setAgain sets the timer, an interval after the beginning of this tick, and returns true. It
// returns false if the reclaimer is closed, or if no work is left and so the ticker rests.
func (r *Reclaimer) setAgain(began time.Duration) bool {
	if r.cfg.Retain == 0 && r.idle() {
		r.rest()
		return false
	}
	r.life.Lock()
	defer r.life.Unlock()
	if r.closed.Load() {
		return false
	}
	r.timer.Reset(max(began+r.cfg.Interval-r.now(), 0))
	return true
}

// absorb empties the queue into the list of the next tick. If much is left from before, the queue
// stays full, and committers help.
func (r *Reclaimer) absorb() {
	defer r.poked.Store(false)
	if r.room() {
		r.stock.absorb(r.queue.drain)
	}
}

// idle reports whether nothing is live, handed over, to be visited or set aside, nor
// anything left to trim, and nobody has called Wake.
func (r *Reclaimer) idle() bool { return r.oldest.Load() == nil && r.unused() }

// unused is idle except for live transactions.
func (r *Reclaimer) unused() bool {
	s := &r.stock
	return r.queue.idle() && s.items.Load() == 0 && s.waits.Load() == 0 && s.aside.Load() == 0 &&
		!r.pending.Load()
}

// rest is the end of the ticker, until there is something to do.
func (r *Reclaimer) rest() {
	r.counters.parks.Add(1)
	r.stock.clear(&r.queue)
	r.life.Lock()
	r.running.Store(r.closed.Load())
	r.life.Unlock()
	hooks.At(hooks.Parking)
	r.startIfNeeded()
}

// startIfNeeded starts the ticker if work is left. It must follow the unlock of life: a goroutine
// that hands work over starts no ticker if one is running, or if life is locked.
func (r *Reclaimer) startIfNeeded() {
	if !r.running.Load() && !r.unused() {
		r.start()
	}
}

// Go runs f in a goroutine that Close waits for, and returns true. It returns false, and does not
// run f, if the reclaimer is closed, has no goroutines, or is locked. It waits for nobody.
func (r *Reclaimer) Go(f func()) bool {
	if r.cfg.Manual || !r.life.TryLock() {
		return false
	}
	open := !r.closed.Load()
	if open {
		r.spawn(f)
	}
	hooks.At(hooks.Spawned)
	r.life.Unlock()
	r.startIfNeeded()
	return open
}

// spawn runs f in a goroutine that Close waits for.
func (r *Reclaimer) spawn(f func()) { r.wg.Go(func() { r.within.Run(f) }) }

// Within calls f, which is background work: the calling goroutine may hold locks for which
// [Reclaimer.Close], [Reclaimer.Reclaim] and the like wait.
func (r *Reclaimer) Within(f func()) { r.within.Run(f) }

// Outside panics if a function of the program that the background work calls makes the call. The
// call waits for background work: it would wait for itself.
func (r *Reclaimer) Outside(call string) {
	if r.within.Has() {
		panic("mvcc: " + call + " is called by a function that the background work calls: it would wait " +
			"for itself")
	}
}

// Stop ends the ticker and returns at once; a tick that is under way is the last one. It may be
// called any number of times, and as a cleanup of the runtime. It leaves alone the timer of a
// bubble of testing/synctest, which may be over: then the ticker ends when the timer goes off.
func (r *Reclaimer) Stop() { r.end(false) }

func (r *Reclaimer) end(inside bool) {
	r.life.Lock()
	defer r.life.Unlock()
	// Nobody starts a goroutine any more. If there is no ticker, its last timer is left alone.
	r.ended.CompareAndSwap(0, int64(max(r.now(), 1)))
	if !r.closed.Swap(true) && r.running.Swap(true) && !r.cfg.Manual && (inside || !r.bubbled) &&
		r.timer.Stop() {
		r.wg.Done()
	}
}

// Closed reports whether Stop or Close was called.
func (r *Reclaimer) Closed() bool { return r.closed.Load() }

// Manual reports whether there is no goroutine, and [Reclaimer.Reclaim] does it all.
func (r *Reclaimer) Manual() bool { return r.cfg.Manual }

// Close ends the ticker, waits for the tick under way and for a call of the Logger, and visits the
// items handed over. Afterwards committers visit theirs, and from time to time those set aside.
func (r *Reclaimer) Close() {
	r.Outside("Close")
	r.within.Run(r.close)
}

func (r *Reclaimer) close() {
	r.end(true)
	// A goroutine that tends beside the ticker lets others go first: so help it.
	r.tendAll(context.Background())
	r.wg.Wait()
	r.passing.Lock()
	defer r.passing.Unlock()
	r.refreshing.Lock()
	view := r.refresh()
	r.refreshing.Unlock()
	r.tendAll(context.Background())
	p := r.gatherPass(view, true)
	_ = p.work(context.Background())
	r.tendAll(context.Background())
	// Idle memory goes, some of it with each call.
	for n := 0; n < closeTrims && r.cfg.Trim(); n++ {
	}
}

const closeTrims = 64

// averageShift is how many bits Reclaimer.average has after the point.
const averageShift = 16
