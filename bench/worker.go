package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
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

// makeWorkers makes a session and a task for each goroutine.
func (t *Trial) makeWorkers() error {
	c := t.config
	streams := func(worker, purpose int) stream {
		return newStream(c.Seed, uint64(c.Sample), uint64(worker), uint64(purpose))
	}
	const (
		forStart = iota
		forCoin
		forPick
		forAmount
		forGaps
	)
	var dist *zipf
	if c.Workload.kind == getPut && c.Workload.Params.Theta != Unset {
		dist = newZipf(len(t.keys), c.Workload.Params.Theta)
	}
	for i := range c.Threads {
		s := t.engine.Session(i)
		start := streams(i, forStart)
		w := &worker{session: s, stop: &t.stop, gaps: streams(i, forGaps), latency: new(histogram)}
		switch c.Workload.kind {
		case getPut:
			w.task = &getPutTask{
				session: s,
				keys:    t.keys,
				seen:    newObserver(i+1, c.Threads, len(t.keys)),
				reads:   uint64(c.Workload.Params.ReadPct) * (1 << 32) / 100,
				coin:    streams(i, forCoin),
				pick:    streams(i, forPick),
				dist:    dist,
				next:    start.below(len(t.keys)),
			}
		case disjoint:
			w.task = &disjointTask{session: s, key: t.keys[i], index: i, writer: i + 1, last: loaded(i), gaps: streams(i, forPick)}
		case transfer:
			tr, ok := s.(Transferer)
			if !ok {
				return t.failed(errUnsupported)
			}
			w.task = &transferTask{
				session:  s,
				transfer: tr,
				keys:     t.keys,
				pick:     streams(i, forPick),
				amount:   streams(i, forAmount),
				moved:    numbers(len(t.keys)),
			}
		case counter:
			add, ok := s.(Incrementer)
			if !ok {
				return t.failed(errUnsupported)
			}
			w.task = &counterTask{
				session: s,
				add:     add,
				keys:    t.keys,
				next:    start.below(len(t.keys)),
				last:    make([]uint64, len(t.keys)),
				counted: make([]uint64, len(t.keys)),
			}
		case begin:
			b, ok := s.(Beginner)
			if !ok {
				return t.failed(errUnsupported)
			}
			w.task = &beginTask{begin: b}
		}
		t.workers = append(t.workers, w)
	}
	if c.Workload.HasAudits() {
		s := t.engine.Session(c.Threads)
		tr, ok := s.(Transferer)
		if !ok {
			return t.failed(errUnsupported)
		}
		t.audits = &auditWorker{auditor: auditor{transfer: tr, keys: len(t.keys)}, session: s, interval: c.AuditInterval}
	}
	return nil
}

// RunFor runs the workload for about d, or until ctx ends. When measure is
// false, as for a warm-up, latencies are not kept, and the result is
// good only for its counts; when it is true, garbage is collected first.
//
// An error is a [*Violation] that a goroutine noticed or a failure of the
// engine; the trial is then of no more use.
func (t *Trial) RunFor(ctx context.Context, d time.Duration, measure bool) (Measurement, error) {
	return t.run(ctx, d, 1<<62, measure)
}

// RunOps runs n operations, shared out equally among the goroutines, and measures
// them. Otherwise it is as RunFor.
func (t *Trial) RunOps(ctx context.Context, n uint64) (Measurement, error) {
	return t.run(ctx, 0, n, true)
}

func (t *Trial) run(ctx context.Context, d time.Duration, limit uint64, measure bool) (Measurement, error) {
	if t.failure != nil {
		return Measurement{}, t.failure
	}
	t.stop.Store(false)
	aborts := t.aborts()
	before := t.auditCount()
	labels := pprof.WithLabels(ctx, t.labels)
	var running, ready sync.WaitGroup
	start, done := make(chan struct{}), make(chan struct{})
	launch := func(wg *sync.WaitGroup, f func()) {
		ready.Add(1)
		wg.Go(func() {
			pprof.SetGoroutineLabels(labels)
			ready.Done()
			<-start
			f()
		})
	}
	for i, w := range t.workers {
		w.ops, w.err, w.every = 0, nil, t.every
		w.published.Store(0)
		w.limit = limit / uint64(len(t.workers))
		if uint64(i) < limit%uint64(len(t.workers)) {
			w.limit++
		}
		w.timed = measure
		w.latency.Reset()
		launch(&running, w.run)
	}
	var auditing sync.WaitGroup
	if t.audits != nil {
		launch(&auditing, func() { t.audits.run(&t.stop, done) })
	}
	ready.Wait()

	var m0, m1 runtime.MemStats
	if measure {
		runtime.GC()
		runtime.ReadMemStats(&m0)
	}
	finished := make(chan struct{})
	cpu0, _ := processCPU()
	from := clock()
	close(start)
	go func() {
		running.Wait()
		close(finished)
	}()
	interrupted := false
	var timeout <-chan time.Time
	if d > 0 {
		timeout = time.After(d)
	}
	select {
	case <-timeout:
	case <-finished:
	case <-ctx.Done():
		interrupted = true
	}
	t.stop.Store(true)
	close(done)
	select {
	case <-finished:
	case <-time.After(t.grace):
		t.failure = t.failed(fmt.Errorf("goroutines are still in an operation %v after they were told to stop", t.grace))
		return Measurement{}, t.failure
	}
	auditing.Wait()
	cpu1, _ := processCPU()
	if measure {
		runtime.ReadMemStats(&m1)
	}
	if t.failure = t.firstError(); t.failure != nil {
		return Measurement{}, t.failure
	}

	m := Measurement{
		Aborts:        t.aborts() - aborts,
		CPU:           cpu1 - cpu0,
		Bytes:         m1.TotalAlloc - m0.TotalAlloc,
		Allocs:        m1.Mallocs - m0.Mallocs,
		Audits:        t.auditCount() - before,
		Interrupted:   interrupted,
		LatencySample: t.every,
	}
	for _, w := range t.workers {
		m.Ops += w.ops
		m.Wall = max(m.Wall, w.ended-from)
		if measure {
			if m.latency == nil {
				m.latency = new(histogram)
			}
			m.latency.Merge(w.latency)
		}
	}
	if !measure && t.config.LatencySample == 0 && m.Ops > 0 {
		busy := float64(m.Wall) * float64(min(len(t.workers), runtime.GOMAXPROCS(0)))
		t.every = sampleFor(busy/float64(m.Ops), float64(ClockCost()))
	}
	return m, nil
}

// firstError returns what went wrong in the last run: a violation if there is
// one, because other failures may follow from it.
func (t *Trial) firstError() error {
	var errs []error
	for _, w := range t.workers {
		if w.err != nil && !errors.Is(w.err, ErrStopped) {
			errs = append(errs, w.err)
		}
	}
	if t.audits != nil && t.audits.err != nil && !errors.Is(t.audits.err, ErrStopped) {
		errs = append(errs, t.audits.err)
	}
	for _, err := range errs {
		if _, ok := errors.AsType[*violation](err); ok {
			return t.failed(err)
		}
	}
	if len(errs) > 0 {
		return t.failed(errs[0])
	}
	return nil
}

func (t *Trial) aborts() uint64 {
	var n uint64
	for _, w := range t.workers {
		n += w.session.Aborts()
	}
	return n
}

func (t *Trial) auditCount() uint64 {
	if t.audits == nil {
		return 0
	}
	return t.audits.auditor.audits
}
