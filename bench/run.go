package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

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
