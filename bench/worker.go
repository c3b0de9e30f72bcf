package bench

import (
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/internal/hist"
)

type histogram = hist.Hist

// worker is one goroutine's part of a trial. Its record survives from run to
// run; each run has a new goroutine.
type worker struct {
	task    task
	session Session
	stop    *stopFlag

	// The rest is of the current run.
	ops     uint64
	limit   uint64
	ended   time.Duration // by clock
	err     error
	latency *histogram
	timed   bool   // latencies are wanted
	gaps    stream // distances between timed operations
	every   int

	_         [128]byte // read by others from here on
	published atomic.Uint64
	_         [120]byte
}

// clock returns the time since the program started. It is what a single reading
// costs: about half of time.Now.
func clock() time.Duration { return time.Since(clockStart) }

var clockStart = time.Now()

// ClockCost returns what reading the clock costs, as the median of a few
// thousand readings, taken now. Every latency includes one.
var ClockCost = sync.OnceValue(func() time.Duration {
	const batch = 64
	costs := make([]time.Duration, 0, 101)
	for range cap(costs) {
		from := clock()
		for range batch - 1 {
			clock()
		}
		costs = append(costs, (clock()-from)/batch)
	}
	slices.Sort(costs)
	return max(costs[len(costs)/2], 1)
})

const (
	firstSample = 64   // when nothing is known of the operation yet
	maxSample   = 1024 // so that live figures and latencies stay plentiful
)

// sampleFor returns how many operations there should be for each timed one, if an
// operation takes perOp: so many that reading the clock, twice, takes at most a
// hundredth of the time.
func sampleFor(perOp, clockCost float64) int {
	if perOp <= 0 {
		return firstSample
	}
	return int(min(max(math.Ceil(2*clockCost/(0.01*perOp)), 1), maxSample))
}

// run does operations until the limit or the stop flag. It reads the clock for
// timed operations only.
func (w *worker) run() {
	defer func() {
		if p := recover(); p != nil {
			w.fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
		w.ended = clock()
		w.published.Store(w.ops)
	}()
	if w.every == 1 && w.timed {
		w.runTimed()
	} else {
		w.runSampled()
	}
}

// runTimed times every operation: the end of one is the start of the next.
func (w *worker) runTimed() {
	from := clock()
	for w.more() {
		if err := w.task.do(); err != nil {
			w.fail(err)
			return
		}
		w.ops++
		to := clock()
		w.latency.Record(int64(to - from))
		from = to
		w.published.Store(w.ops)
	}
}

// runSampled times one operation in w.every on average. The distances are
// random: with fixed ones, a task that goes round its keys would always be timed
// at the same key.
func (w *worker) runSampled() {
	gap := w.gap()
	for w.more() {
		if gap--; gap > 0 {
			if err := w.task.do(); err != nil {
				w.fail(err)
				return
			}
			w.ops++
			continue
		}
		from := clock()
		if err := w.task.do(); err != nil {
			w.fail(err)
			return
		}
		to := clock()
		w.ops++
		if w.timed {
			w.latency.Record(int64(to - from))
		}
		w.published.Store(w.ops)
		gap = w.gap()
	}
}

// more reports whether there is another operation to do. There is a first one even
// if the run is already over when the goroutine gets to it: a sample without any
// operation would tell nothing.
func (w *worker) more() bool {
	return w.ops < w.limit && (w.ops == 0 || !w.stop.Load())
}

// fail ends the run of all goroutines.
func (w *worker) fail(err error) {
	w.err = err
	w.stop.Store(true)
}

func (w *worker) gap() int { return 1 + w.gaps.below(2*w.every-1) }

// auditWorker runs an auditor beside the workers.
type auditWorker struct {
	auditor
	session  Session
	interval time.Duration
	err      error
}

// run audits at once, at every interval, and, unless done is closed in the midst
// of the first, a last time before it returns.
func (a *auditWorker) run(stop *stopFlag, done <-chan struct{}) {
	defer func() {
		if p := recover(); p != nil {
			a.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if a.err != nil {
			stop.Store(true)
		}
	}()
	var tick <-chan time.Time
	if a.interval > 0 {
		t := time.NewTicker(a.interval)
		defer t.Stop()
		tick = t.C
	}
	for {
		if a.err = a.do(); a.err != nil {
			return
		}
		if tick == nil {
			if stop.Load() {
				return
			}
			continue
		}
		select {
		case <-done:
			return
		case <-tick:
		}
	}
}

// numbers returns n zeros in memory that is really there: large allocations are
// backed by pages only when they are first written to, and that must not happen
// within an operation.
func numbers(n int) []uint64 {
	s := make([]uint64, n)
	clear(s)
	return s
}
