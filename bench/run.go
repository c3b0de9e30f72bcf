package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/machine"
)

// RunFor runs the workload for about d, or until ctx ends. When measure is
// false, as for a warm-up, no times are kept, and the result is
// good only for its counts; when it is true, garbage is collected first.
//
// An error is a [*Violation] that a goroutine noticed or a failure of the
// engine; the trial is then of no more use.
func (t *Trial) RunFor(ctx context.Context, d time.Duration, measure bool) (Measurement, error) {
	return t.run(ctx, d, 1<<62, measure)
}

// RunOps runs n operations, and measures them. In a closed loop each goroutine does an equal share.
// Cost and errors are those of RunFor.
func (t *Trial) RunOps(ctx context.Context, n uint64) (Measurement, error) {
	return t.run(ctx, 0, n, true)
}

func (t *Trial) run(
	ctx context.Context, d time.Duration, limit uint64, measure bool,
) (Measurement, error) {
	if t.failure != nil {
		return Measurement{}, t.failure
	}
	r := t.begin(ctx, limit, measure)
	var before, after usage
	if measure {
		runtime.GC()
		if t.census != nil {
			t.census.begin()
		}
	}
	end := func() {}
	if measure && t.around != nil {
		end = t.around()
	}
	machineDid := func() (u machine.Usage) { return u }
	if measure {
		machineDid = machine.Watch()
	}
	before.begin()
	interrupted, err := r.wait(ctx, d)
	after.end()
	meanwhile := machineDid()
	end()
	if err != nil {
		t.failure = err
		return Measurement{}, err
	}
	if t.failure = t.firstError(); t.failure != nil {
		return Measurement{}, t.failure
	}
	m := t.measurement(&before, &after, measure)
	m.Audits -= r.audits
	m.Interrupted = interrupted
	m.Machine = meanwhile
	if measure && t.census != nil {
		m.Memory = t.census.end()
	}
	if !measure && t.config.LatencySample == 0 && t.config.Rate == 0 && m.Ops > 0 {
		busy := float64(m.Wall) * float64(min(len(t.workers), runtime.GOMAXPROCS(0)))
		t.every = sampleFor(busy/float64(m.Ops), float64(ClockCost()))
	}
	return m, nil
}

// running is a run under way. Its goroutines have been started and wait.
type running struct {
	trial    *Trial
	start    chan struct{} // closed to let them go
	done     chan struct{} // closed by halt
	halt     func()
	workers  sync.WaitGroup
	auditing sync.WaitGroup
	audits   uint64 // before the run
}

// begin starts the goroutines of a run, up to where they do their first
// operation.
func (t *Trial) begin(ctx context.Context, limit uint64, measure bool) *running {
	r := &running{trial: t, start: make(chan struct{}), done: make(chan struct{}),
		audits: t.auditCount()}
	r.halt = sync.OnceFunc(func() {
		t.stop.Store(true)
		close(r.done)
	})
	t.stop.Store(false)
	t.runs.Add(1)
	t.measured.Store(measure)
	for _, times := range t.times {
		times.reset()
	}
	labels := pprof.WithLabels(ctx, t.labels)
	work := labels
	if len(t.model.ops) == 1 {
		work = pprof.WithLabels(labels, pprof.Labels(operationLabel, t.model.ops[0].name))
	}
	var ready sync.WaitGroup
	launch := func(wg *sync.WaitGroup, labels context.Context, f func()) {
		ready.Add(1)
		wg.Go(func() {
			pprof.SetGoroutineLabels(labels)
			ready.Done()
			<-r.start
			f()
		})
	}
	if t.queue != nil {
		t.queue.reset(limit)
	}
	n := uint64(len(t.workers))
	for i, w := range t.workers {
		share := limit / n
		if uint64(i) < limit%n {
			share++
		}
		w.reset(share, t.every, measure)
		w.halt, w.done = r.halt, r.done
		w.watched = nil
		if measure {
			w.watched = t.watch
		}
		w.task.label.begin(work)
		launch(&r.workers, work, w.run)
	}
	if t.audits != nil {
		audit := pprof.WithLabels(labels, pprof.Labels(operationLabel, auditOperation))
		launch(&r.auditing, audit, func() { t.audits.run(&t.stop, r.halt, r.done) })
	}
	ready.Wait()
	return r
}

// wait lets the goroutines go and waits until they have ended: after all their operations or, once
// d has passed (if it is not zero) or ctx has ended, when they notice that they are to stop. The
// error says that they did not notice in time.
func (r *running) wait(ctx context.Context, d time.Duration) (interrupted bool, err error) {
	t := r.trial
	finished := make(chan struct{})
	go func() {
		r.workers.Wait()
		close(finished)
	}()
	t.started.store(clock())
	t.runs.Add(1)
	close(r.start)
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
	r.halt()
	select {
	case <-finished:
	case <-time.After(t.grace):
		return interrupted, t.failed(fmt.Errorf("goroutines are still in an operation %v after they "+
			"were told to stop", t.grace))
	}
	r.auditing.Wait()
	return interrupted, nil
}

// measurement returns the figures of the run that has just ended.
func (t *Trial) measurement(before, after *usage, measure bool) Measurement {
	m := Measurement{
		Audits:        t.auditCount(),
		CPU:           after.cpu - before.cpu,
		Switches:      after.switches - before.switches,
		known:         before.known && after.known,
		Bytes:         after.mem.TotalAlloc - before.mem.TotalAlloc,
		Allocs:        after.mem.Mallocs - before.mem.Mallocs,
		GCs:           after.mem.NumGC - before.mem.NumGC,
		GCPause:       time.Duration(after.mem.PauseTotalNs - before.mem.PauseTotalNs),
		GCShare:       after.gc.share(before.gc),
		Rate:          t.config.Rate,
		LatencySample: t.every,
	}
	from := t.started.load()
	for _, w := range t.workers {
		m.Ops += w.ops
		m.Errors += w.gaveUp
		m.Aborts += w.session.Aborts() - w.aborted
		m.Wall = max(m.Wall, w.ended-from)
	}
	if t.queue != nil {
		m.Backlog = t.queue.backlog
	}
	m.threads = len(t.workers)
	if measure && t.every != NoLatency {
		collect(t.times, &m.Service, &m.Response)
	}
	for i, name := range t.model.operationNames() {
		o := OperationMeasurement{Name: name}
		for _, w := range t.workers {
			o.Ops += w.task.counts.done[i]
		}
		if measure && t.every != NoLatency {
			var times []*recorders
			for _, r := range t.times {
				times = append(times, r.each[i])
			}
			collect(times, &o.Service, &o.Response)
		}
		m.Operations = append(m.Operations, o)
	}
	return m
}

// firstError returns the failure of the last run: a violation if there is one,
// because other failures may follow from it.
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

func (t *Trial) auditCount() uint64 {
	if t.audits == nil {
		return 0
	}
	return t.audits.audits
}
