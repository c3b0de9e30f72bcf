package bench

import (
	"math"
	"runtime"
	"time"
)

// Arrival says how the operations of an open loop follow each other.
type Arrival string

// The kinds of arrival. Fixed ones come at equal distances, those of the
// goroutines evenly between each other; Poisson ones at random, independently
// of each other, as requests of many users do, so that some come in bursts.
const (
	FixedArrivals   Arrival = "fixed"
	PoissonArrivals Arrival = "poisson"
)

// A pacer says when a goroutine's operations are due, and waits until then. The
// times are those of a plan made before the run: an operation that starts late
// does not move those after it, so that a stall is seen by every operation that
// would have come meanwhile, and not by one alone (the fault known as coordinated
// omission).
type pacer struct {
	period  float64  // mean distance between two operations, ns
	offset  float64  // of the first, if they are fixed
	poisson *Rand    // nil: fixed
	due     float64  // when the next is due, ns after the start
	n       float64  // operations before that
	start   *instant // when the run started

	// spin is how long before the time the goroutine wakes up and yields the
	// processor until it has come: the system wakes sleepers up to a
	// millisecond late.
	spin  time.Duration
	yield func()
	timer *time.Timer
}

// maxSpin is longer than the system is usually late in waking a sleeper.
const maxSpin = 1500 * time.Microsecond

// newPacer returns the plan of goroutine i of those of c.
func newPacer(c Config, i int, poisson *Rand, start *instant) *pacer {
	rate, threads := c.Rate, c.Threads
	p := &pacer{
		period:  float64(threads) / rate * 1e9,
		offset:  float64(i) / rate * 1e9,
		poisson: poisson,
		start:   start,
		spin:    maxSpin,
		yield:   runtime.Gosched,
		timer:   time.NewTimer(time.Hour),
	}
	p.timer.Stop()
	if procs := runtime.GOMAXPROCS(0); threads > procs {
		// Only so many goroutines yield at a time that each has a processor; while those are busy, the
		// scheduler looks at timers all the time.
		p.spin = min(maxSpin, time.Duration(float64(procs)/rate*1e9))
	}
	return p
}

// reset begins the plan anew, before a run.
func (p *pacer) reset() {
	p.n, p.due = 0, p.offset
	if p.poisson != nil {
		p.due = p.gap()
	}
}

// next returns when the next operation is due, by clock.
func (p *pacer) next() time.Duration { return p.start.load() + time.Duration(p.due) }

// advance goes on to the operation after the next.
func (p *pacer) advance() {
	if p.poisson != nil {
		p.due += p.gap()
		return
	}
	p.n++
	p.due = p.offset + p.n*p.period // without adding up what is rounded
}

// gap returns the distance between two random arrivals.
func (p *pacer) gap() float64 {
	u := float64(p.poisson.next()>>11) / (1 << 53)
	return -math.Log1p(-u) * p.period
}

// wait returns when the time has come, or at once if it has passed, and what time
// it is then. ok is false if the run ended before.
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

// backlog returns how many operations were due at time t and have not been
// started; with random arrivals, how many are to be expected.
func (p *pacer) backlog(t time.Duration) uint64 {
	late := float64(t-p.start.load()) - p.due
	if late < 0 {
		return 0
	}
	return 1 + uint64(late/p.period)
}
