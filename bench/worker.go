package bench

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// worker is one goroutine's part of a trial. Its record survives from run to
// run; each run has a new goroutine.
type worker struct {
	task    *Tx
	session Session
	stop    *stopFlag
	times   *recorders
	queue   *queue // nil in a closed loop
	pace    *pacer

	// The rest is of the current run.
	ops     uint64        // committed
	gaveUp  uint64        // operations without success
	limit   uint64        // on ops; lowered by operations given up
	aborted uint64        // aborts before the run
	ended   time.Duration // by clock
	held    time.Duration // when the operation was due that it took and did not begin, or never
	err     error
	halt    func()              // ends the run of all goroutines
	done    <-chan struct{}     // closed by halt
	timed   bool                // times are to be kept
	gaps    Rand                // distances between timed operations
	every   int                 // NoLatency: none is timed
	told    time.Duration       // when tellNow last did something
	watched func(time.Duration) // see Trial.Watch; may be nil

	_    [128]byte // read by others from here on
	live struct{ ops, aborts, gaveUp atomic.Uint64 }
	_    [104]byte
}

// newWorker returns the record of goroutine i.
func newWorker(t *Trial, i int, s Session, task *Tx) *worker {
	w := &worker{
		task:    task,
		session: s,
		stop:    &t.stop,
		times:   t.times[i%len(t.times)],
		gaps:    t.randFor(i, forGaps),
	}
	if t.queue != nil {
		w.queue, w.pace = t.queue, newPacer(t.config)
	}
	return w
}

// reset makes w ready for a run of at most limit operations.
func (w *worker) reset(limit uint64, every int, timed bool) {
	w.ops, w.gaveUp, w.limit = 0, 0, limit
	w.held, w.err, w.told = never, nil, longAgo
	w.aborted = w.session.Aborts()
	w.every, w.timed = every, timed
	clear(w.task.counts.done)
	w.live.ops.Store(0)
	w.live.aborts.Store(0)
	w.live.gaveUp.Store(0)
}

// clock returns the time since the program started. It costs a single reading:
// about half of time.Now.
func clock() time.Duration { return time.Since(clockStart) }

var clockStart = time.Now()

// ClockCost returns the cost of reading the clock, as the median of a few
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
// timed operations only, and in an open loop for each.
func (w *worker) run() {
	defer func() {
		if p := recover(); p != nil {
			w.fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
		w.ended = clock()
		if w.queue != nil {
			w.queue.leave(w.ended, w.held)
		}
		w.tell()
	}()
	switch {
	case w.queue != nil:
		w.runPaced()
	case w.every == NoLatency:
		w.runUntimed()
	case w.every == 1 && w.timed:
		w.runTimed()
	default:
		w.runSampled()
	}
}

// runUntimed never reads the clock.
func (w *worker) runUntimed() {
	const batch = 1024
	for w.more() {
		if err := w.task.do(); err != nil {
			if w.fails(err) {
				return
			}
			continue
		}
		if w.ops++; w.ops%batch == 0 {
			w.tell()
		}
	}
}

// runTimed times every operation: the end of one is the start of the next.
func (w *worker) runTimed() {
	from := clock()
	for w.more() {
		if err := w.task.do(); err != nil {
			if w.fails(err) {
				return
			}
			from = clock()
			continue
		}
		w.ops++
		to := clock()
		w.served(to - from)
		w.tellNow(to)
		if w.watched != nil {
			w.watched(to - from)
			to = clock()
		}
		from = to
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
				if w.fails(err) {
					return
				}
				continue
			}
			w.ops++
			continue
		}
		gap = w.gap()
		from := clock()
		if err := w.task.do(); err != nil {
			if w.fails(err) {
				return
			}
			continue
		}
		to := clock()
		w.ops++
		if w.timed {
			w.served(to - from)
		}
		w.tellNow(to)
		if w.watched != nil {
			w.watched(to - from)
		}
	}
}

// runPaced does one operation of the queue after the other, each when it is due, or as soon after
// as it can. The service time counts from when it was begun, the response time from when it was
// due.
func (w *worker) runPaced() {
	gap := w.gap()
	for !w.stop.Load() {
		due, ok := w.queue.take()
		if !ok {
			return
		}
		from, ok := w.pace.wait(due, w.stop, w.done)
		if !ok {
			w.held = due
			return
		}
		if err := w.task.do(); err != nil {
			if w.fails(err) {
				return
			}
			continue
		}
		to := clock()
		w.ops++
		if gap--; gap == 0 {
			gap = w.gap()
			if w.timed {
				w.served(to - from)
				w.times.response.Record(int64(to - due))
				if w.times.each != nil {
					w.times.each[w.task.counts.now].response.Record(int64(to - due))
				}
			}
			if w.watched != nil {
				w.watched(to - from)
			}
		}
		w.tellNow(to)
	}
}

// served keeps how long an operation took.
func (w *worker) served(took time.Duration) {
	w.times.service.Record(int64(took))
	if w.times.each != nil {
		w.times.each[w.task.counts.now].service.Record(int64(took))
	}
}

// more reports whether there is another operation to do. There is a first one even
// if the run is already over when the goroutine gets to it: a sample without any
// operation would tell nothing.
func (w *worker) more() bool {
	return w.ops < w.limit && (w.ops == 0 || !w.stop.Load())
}

// fails handles the error of an operation, and reports whether the goroutine is to end. An
// operation that was given up is counted, and is no reason to end.
func (w *worker) fails(err error) bool {
	if !errors.Is(err, ErrGaveUp) {
		w.fail(err)
		return true
	}
	w.gaveUp++
	w.limit--
	w.tell()
	return w.stop.Load()
}

// fail ends the run of all goroutines.
func (w *worker) fail(err error) {
	w.err = err
	w.halt()
}

// gap returns the number of operations up to and including the next to be timed,
// 0 if none is.
func (w *worker) gap() int {
	if w.every == NoLatency {
		return 0
	}
	return 1 + w.gaps.Below(2*w.every-1)
}

// tellEvery is how often, at most, a goroutine says how far it is.
const tellEvery = time.Millisecond

// longAgo is before every time by clock.
const longAgo = time.Duration(math.MinInt64 / 2)

// tellNow is tell, but does nothing if it was called shortly before now.
func (w *worker) tellNow(now time.Duration) {
	if now-w.told >= tellEvery {
		w.told = now
		w.tell()
	}
}

// tell publishes how far the goroutine is, for readers of the live figures.
func (w *worker) tell() {
	w.live.ops.Store(w.ops)
	w.live.aborts.Store(w.session.Aborts() - w.aborted)
	w.live.gaveUp.Store(w.gaveUp)
}

// numbers returns n zeros in memory that is really there: large allocations are
// backed by pages only when they are first written to, and that must not happen
// within an operation.
func numbers(n int) []uint64 {
	s := make([]uint64, n)
	clear(s)
	return s
}
