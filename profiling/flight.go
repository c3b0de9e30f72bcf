package profiling

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/profiling/internal/capture"
	"github.com/mvccmap/mvccmap/profiling/internal/slow"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// Values that zero fields of a [SlowConfig] stand for.
const (
	defaultPercentile = 99.9
	defaultMinAge     = 5 * time.Second
	defaultSlowBytes  = 10_000_000
	maxSlowBytes      = 256 << 20
	defaultSlowEvery  = 3 * time.Second
	defaultSlowKeep   = 8
)

// SlowConfig says which operations are slow, and what is kept of them.
//
// While slow operations are recorded, the runtime's flight recorder is on: it
// holds the last seconds of an execution trace. When an [Op] takes longer than
// usual, the trace is kept and read, and the page /debug/pprof/slow/ says what the
// operation waited for. Nothing is recorded unless [Config.Slow],
// [Service.StartSlow] or a visitor of that page turns it on.
//
// The trace costs a program that does nothing but wake goroutines more than half
// of its speed, one whose goroutines fight for a lock a fifth, and one that seldom
// waits hardly anything; see [Service.Instrumented]. It takes about MaxBytes of
// memory, and as much again for each trace kept. To keep one takes some
// milliseconds. To read it takes one processor for about 0.3 µs per event, which
// are one or two seconds for 10 MB, and memory of ten times its size meanwhile; at
// most a twentieth of a processor is spent in this way, so that a program of very
// many events has a trace kept less often than Every says.
type SlowConfig struct {
	// Percentile makes operations slow that take longer than that percentile
	// of what the same Op took in the last minute. The default is 99.9. There
	// must be enough operations to know it: ten beyond it, so 10 000 for 99.9.
	Percentile float64

	// Above, if positive, makes operations slow that take longer, whatever is
	// usual. Percentile then does not matter.
	Above time.Duration

	// MinAge is how far traces should reach back, and so the longest operation
	// that can be explained from its start. The default is 5 s.
	MinAge time.Duration

	// MaxBytes is how large a trace may become; a program with many events has
	// then less than MinAge of it. It is a hint to the runtime, which traces
	// in parts of about a second and keeps at least one; a trace of more than
	// four times as much is dropped. The default is 10 MB, the largest 256 MB.
	MaxBytes int

	// Every is the shortest time between two traces kept. Of the slow
	// operations meanwhile the one that exceeded its threshold by the largest
	// factor is chosen. The default is 3 s.
	Every time.Duration

	// Keep is how many traces are kept. The half that exceeded their
	// thresholds most stay, the others make room for newer ones. Together they
	// are not larger than Keep times MaxBytes. The default is 8.
	Keep int

	_ struct{}
}

// withDefaults returns c with its zero fields filled in, or an error that says
// what is wrong with it.
func (c SlowConfig) withDefaults() (SlowConfig, error) {
	if c.Percentile == 0 {
		c.Percentile = defaultPercentile
	}
	if !(c.Percentile > 0 && c.Percentile < 100) {
		return c, fmt.Errorf("percentile must be above 0 and below 100, not %v", c.Percentile)
	}
	if c.Above < 0 {
		return c, fmt.Errorf("the duration above which operations are slow must not be negative, and it is %v", c.Above)
	}
	if c.MinAge <= 0 {
		c.MinAge = defaultMinAge
	}
	if c.MaxBytes <= 0 {
		c.MaxBytes = defaultSlowBytes
	}
	c.MaxBytes = min(c.MaxBytes, maxSlowBytes)
	if c.Every <= 0 {
		c.Every = defaultSlowEvery
	}
	if c.Keep <= 0 {
		c.Keep = defaultSlowKeep
	}
	return c, nil
}

// Op returns the kind of operation with the given name, the same each time. It
// takes a lock; keep the result. Names should be few: each takes up to a megabyte
// while slow operations are recorded.
//
//	checkout := service.Op("checkout")
//	...
//	start := time.Now()
//	checkOut(cart)
//	checkout.Done(time.Since(start))
func (s *Service) Op(name string) *Op { return s.service.slow.op(name) }

// StartSlow starts to record slow operations; if they are being recorded, it
// starts anew under cfg. What is kept stays. The error says what is wrong with
// cfg, or that the flight recorder of the process is in use elsewhere.
func (s *Service) StartSlow(cfg SlowConfig) error { return s.service.slow.start(cfg) }

// StopSlow ends the recording of slow operations, if there is one, and waits
// until it has ended. What is kept stays.
func (s *Service) StopSlow() { s.service.slow.stop() }

// slowOps is what a service knows of slow operations.
type slowOps struct {
	phase func() string
	kept  capture.History[*slowOp]

	turn   sync.Mutex // of who starts or stops, which may take seconds; before mu
	closed bool       // under turn

	mu     sync.Mutex
	ops    map[string]*Op
	names  []string // of ops, sorted
	cfg    SlowConfig
	flight *flight // nil while nothing is recorded
	failed error   // why the last start was none
}

// op returns the Op of that name.
func (s *slowOps) op(name string) *Op {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.ops[name]; o != nil {
		return o
	}
	o := &Op{name: name}
	if s.ops == nil {
		s.ops = map[string]*Op{}
	}
	s.ops[name] = o
	i, _ := slices.BinarySearch(s.names, name)
	s.names = slices.Insert(s.names, i, name)
	if s.flight != nil {
		s.flight.record(o)
	}
	return o
}

func (s *slowOps) start(cfg SlowConfig) error {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return s.fail(web.Refuse(http.StatusBadRequest, "slow operations: %v", err))
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	if s.closed {
		return web.Refuse(http.StatusServiceUnavailable, "slow operations: the service is closed")
	}
	s.halt()
	f, err := newFlight(cfg, &s.kept, s.phase)
	if err != nil {
		return s.fail(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg, s.flight, s.failed = cfg, f, nil
	for _, o := range s.ops {
		f.record(o)
	}
	return nil
}

// fail says why the recording could not be started.
func (s *slowOps) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
	return err
}

func (s *slowOps) stop() {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.halt()
}

// close is stop for good.
func (s *slowOps) close() {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.closed = true
	s.halt()
}

// halt ends the recording, if there is one. s.turn is held, but not s.mu: it waits
// for a trace that is being read.
func (s *slowOps) halt() {
	s.mu.Lock()
	f := s.flight
	s.flight = nil
	if f != nil {
		for _, o := range s.ops {
			o.rec.Store(nil)
		}
	}
	s.mu.Unlock()
	if f != nil {
		f.close()
	}
}

// A flight records what goes on, and keeps it when an operation was slow.
type flight struct {
	cfg     SlowConfig
	kept    *capture.History[*slowOp]
	phase   func() string
	rec     *trace.FlightRecorder // of the flight's goroutine
	started time.Time
	leave   func() // the gate

	best  atomic.Pointer[slowOp] // to be kept next
	fresh atomic.Int64           // how old best may become, in nanoseconds
	wake  chan struct{}          // says that there is a best

	mu      sync.Mutex // protects what follows, and opRecord.recent
	records []*opRecord
	lost    int    // traces that were not kept
	problem string // with the last of them

	stop    context.CancelFunc
	stopped chan struct{}
}

// newFlight starts the flight recorder and the goroutine that looks after it.
func newFlight(cfg SlowConfig, kept *capture.History[*slowOp], phase func() string) (*flight, error) {
	leave, err := capture.HoldFlight("slow operations are recorded by another service of this process, and it has one flight recorder")
	if err != nil {
		return nil, err
	}
	f := &flight{
		cfg:     cfg,
		kept:    kept,
		phase:   phase,
		rec:     trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: cfg.MinAge, MaxBytes: uint64(cfg.MaxBytes)}),
		started: time.Now(),
		leave:   leave,
		wake:    make(chan struct{}, 1),
		stopped: make(chan struct{}),
	}
	f.fresh.Store(int64(cfg.MinAge / 2))
	if err := f.rec.Start(); err != nil {
		leave()
		return nil, web.Refuse(http.StatusConflict, "the program itself uses the flight recorder: %v", err)
	}
	var ctx context.Context
	ctx, f.stop = context.WithCancel(context.Background())
	go func() {
		defer close(f.stopped)
		pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels("profiling", "slow operations")))
		f.run(ctx)
		f.rec.Stop()
	}()
	return f, nil
}

// close waits until the flight recorder is off.
func (f *flight) close() {
	f.stop()
	<-f.stopped
	f.leave()
}

// record records o from now on.
func (f *flight) record(o *Op) {
	r := newOpRecord(o, f, time.Now())
	f.mu.Lock()
	f.records = append(f.records, r)
	f.mu.Unlock()
	o.rec.Store(r)
}

// run sets the thresholds each second, and keeps the trace when it is woken, but
// not too often.
func (f *flight) run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	next := time.NewTimer(0)
	defer next.Stop()
	<-next.C
	ready := true // to keep a trace at once
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			f.tick(now)
			continue
		case <-next.C:
			ready = true
		case <-f.wake:
		}
		if !ready {
			continue // until the timer ends
		}
		c := f.best.Swap(nil)
		if c == nil {
			continue
		}
		start := time.Now()
		if start.Sub(c.End) > time.Duration(f.fresh.Load()) {
			continue // the trace will hardly have it; the next will be kept at once
		}
		f.keep(c)
		ready = false
		next.Reset(max(f.cfg.Every, 20*time.Since(start)))
	}
}

func (f *flight) tick(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.records {
		r.tick(now, f.cfg)
	}
}

// keep takes the trace in which c ends, reads it and keeps both.
func (f *flight) keep(c *slowOp) {
	if f.cfg.Above == 0 {
		c.Percentile = f.cfg.Percentile
	}
	c.Phase = f.phase()
	buf := &boundedBuffer{max: 4 * f.cfg.MaxBytes}
	if _, err := f.rec.WriteTo(buf); err != nil {
		f.drop(fmt.Sprintf("A trace was dropped: %v.", err))
		return
	}
	c.data = bytes.Clone(buf.Bytes())
	report, err := slow.FromTrace(bytes.NewReader(c.data), c.mark, c.Took)
	switch {
	case errors.Is(err, slow.ErrNoMark):
		f.setFresh(time.Duration(f.fresh.Load()) / 2)
		f.drop("The program has so many events that a trace did not have the end of the operation any more. Raise the size.")
		return
	case err != nil:
		c.Problem = err.Error()
	default:
		c.Report = report
		f.setFresh(min(report.End+time.Since(c.End), f.cfg.MinAge) / 2)
	}
	keep(f.kept, c, f.cfg.Keep, f.cfg.Keep*f.cfg.MaxBytes)
}

// setFresh sets how long after its end an operation is still kept, half of what
// the last trace reached back: later, its start may be lost.
func (f *flight) setFresh(d time.Duration) {
	f.fresh.Store(int64(max(d, 50*time.Millisecond)))
}

func (f *flight) drop(why string) {
	f.mu.Lock()
	f.lost++
	f.problem = why
	f.mu.Unlock()
}

// A boundedBuffer refuses to become larger than max.
type boundedBuffer struct {
	bytes.Buffer
	max int
}

// Write implements [io.Writer].
func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.max {
		return 0, fmt.Errorf("it was larger than %s", shortBytes(b.max))
	}
	return b.Buffer.Write(p)
}

// shortBytes writes a size.
func shortBytes(n int) string {
	if n < 1_000_000 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1000), ".0") + " KB"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e6), ".0") + " MB"
}
