package bench

import (
	"math"
	"runtime"
	"sync"
	"time"
)

// Arrival says how the operations of an open loop follow each other.
type Arrival string

// The kinds of arrival. Fixed ones come at equal distances; Poisson ones at random, independently
// of each other, as requests of many users do, so that some come in bursts.
const (
	FixedArrivals   Arrival = "fixed"
	PoissonArrivals Arrival = "poisson"
)

// A queue has the operations of an open loop in the order in which they are due, for whichever
// goroutine is free, as a server has its requests. The times are those of a plan made before the
// run: an operation that starts late does not move those after it, so that a stall is seen by every
// operation that would have come meanwhile, and not by one alone (the fault known as coordinated
// omission). A goroutine takes the next operation before it is due, if it is free, and waits.
type queue struct {
	period  float64  // mean distance between two operations, ns
	poisson *Rand    // nil: fixed
	started *instant // when the run started

	mu      sync.Mutex
	due     float64 // when the next is due, ns after the start
	taken   uint64  // operations before that
	limit   uint64  // on taken
	closed  bool
	end     time.Duration // when it was closed, by clock
	backlog uint64
}

// newQueue returns the plan of a trial; nil in a closed loop.
func newQueue(t *Trial) *queue {
	if t.config.Rate == 0 {
		return nil
	}
	q := &queue{period: 1e9 / t.config.Rate, started: &t.started}
	if t.config.Arrival == PoissonArrivals {
		arrivals := t.randFor(0, forArrivals)
		q.poisson = &arrivals
	}
	return q
}

// reset begins the plan anew, before a run of at most limit operations.
func (q *queue) reset(limit uint64) {
	q.due, q.taken, q.limit, q.closed, q.backlog = 0, 0, limit, false, 0
	if q.poisson != nil {
		q.due = q.gap()
	}
}

// gap returns the distance between two random arrivals.
func (q *queue) gap() float64 {
	u := float64(q.poisson.next()>>11) / (1 << 53)
	return -math.Log1p(-u) * q.period
}

// take returns when the next operation is due, by clock. ok is false if there is none any more.
func (q *queue) take() (due time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.taken == q.limit {
		return 0, false
	}
	due = q.started.load() + time.Duration(q.due)
	q.taken++
	if q.poisson != nil {
		q.due += q.gap()
	} else {
		q.due = float64(q.taken) * q.period // without adding up rounding errors
	}
	return due, true
}

// never is the due time that stands for no operation.
const never = time.Duration(math.MaxInt64)

// leave is called by each goroutine when it takes no more operations. held is the due time of an
// operation that the goroutine has taken and not begun, or never. The first call closes the queue:
// each operation that was due by then has been begun, or counts in the backlog. With random
// arrivals the operations that nobody has taken are estimated.
func (q *queue) leave(now, held time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed, q.end = true, now
		if late := float64(now-q.started.load()) - q.due; late >= 0 {
			q.backlog += 1 + uint64(late/q.period)
		}
	}
	if held <= q.end {
		q.backlog++
	}
}

// A pacer has a goroutine wait until an operation is due.
type pacer struct {
	// spin is how long before an operation is due its goroutine wakes up, to yield the processor
	// until then: the system wakes sleepers up to a millisecond late.
	spin  time.Duration
	yield func()
	timer *time.Timer
}

// maxSpin is longer than the system is usually late in waking a sleeper.
const maxSpin = 1500 * time.Microsecond

// newPacer returns the pacer of one of the goroutines of c.
func newPacer(c Config) *pacer {
	p := &pacer{spin: maxSpin, yield: runtime.Gosched, timer: time.NewTimer(time.Hour)}
	p.timer.Stop()
	if procs := runtime.GOMAXPROCS(0); c.Threads > procs {
		// About as many goroutines yield at a time as there are processors. While these are busy,
		// the scheduler looks at timers all the time.
		p.spin = min(maxSpin, time.Duration(float64(procs)/c.Rate*1e9))
	}
	return p
}

// wait waits for the time until, unless it has passed, and returns the time at which it woke. ok is
// false if the run ended before.
func (p *pacer) wait(
	until time.Duration, stop *stopFlag, done <-chan struct{},
) (now time.Duration, ok bool) {
	if now = clock(); now >= until {
		return now, true
	}
	if d := until - now - p.spin; d > 0 {
		p.timer.Reset(d)
		select {
		case <-p.timer.C:
		case <-done:
			p.timer.Stop()
			return clock(), false
		}
	}
	for now = clock(); now < until; now = clock() {
		if stop.Load() {
			return now, false
		}
		p.yield()
	}
	return now, true
}
