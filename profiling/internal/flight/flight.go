package flight

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
	"github.com/mvccmap/mvccmap/internal/bench/machine"
	"github.com/mvccmap/mvccmap/profiling/internal/capture"
	"github.com/mvccmap/mvccmap/profiling/internal/losses"
	"github.com/mvccmap/mvccmap/profiling/internal/slow"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// A flight records an execution trace, and keeps it when an operation was slow.
type flight struct {
	cfg   Config
	kept  *capture.History[*Slow]
	phase func() string
	leave func() // the gate
	began time.Time

	// busy is held by one callback at a time, of a timer, and protects the rest of this block.
	busy    sync.Mutex
	on      bool // until close
	rec     *trace.FlightRecorder
	machine machine.Log
	sums    slow.Others // which operations are not summed up yet
	second  *time.Timer

	best  atomic.Pointer[Slow] // to be kept next
	fresh atomic.Int64         // how old best may become, in nanoseconds
	asked atomic.Bool          // take is due, or waits for its time
	next  atomic.Int64         // when that is, in nanoseconds since began
	marks marks

	mu      sync.Mutex // protects records, outcome, and record.recent
	records []*record
	outcome

	stop context.CancelFunc
}

// An outcome has the results of a recording, beside the operations that are kept.
type outcome struct {
	lost    int    // traces that were not kept
	problem string // with the last of them
	tails   tails
}

// newFlight starts the flight recorder and the timer that looks after it.
func newFlight(cfg Config, kept *capture.History[*Slow], phase func() string) (*flight, error) {
	leave, err := capture.HoldFlight("slow operations are recorded by another service " +
		"of this process, and it has one flight recorder")
	if err != nil {
		return nil, err
	}
	f := &flight{
		cfg:   cfg,
		kept:  kept,
		phase: phase,
		rec: trace.NewFlightRecorder(trace.FlightRecorderConfig{
			MinAge: cfg.MinAge, MaxBytes: uint64(cfg.MaxBytes),
		}),
		leave: leave,
		began: time.Now(),
	}
	f.fresh.Store(int64(cfg.MinAge / 2))
	f.sums.After = lastMark.Load()
	f.marks.left.Store(marksASecond)
	if err := f.rec.Start(); err != nil {
		leave()
		return nil, web.Refuse(http.StatusConflict,
			"the program itself uses the flight recorder: %v", err)
	}
	var ctx context.Context
	ctx, f.stop = context.WithCancel(context.Background())
	f.machine.Start(ctx)
	f.on = true
	f.second = time.AfterFunc(time.Hour, f.everySecond)
	f.second.Reset(0)
	return f, nil
}

// close waits until the flight recorder is off.
func (f *flight) close() {
	f.busy.Lock()
	if f.on {
		f.on = false
		f.second.Stop()
		f.stop()
		f.rec.Stop()
	}
	f.busy.Unlock()
	f.leave()
}

// record records o from now on.
func (f *flight) record(o *Op) {
	r := newRecord(o, f, time.Now())
	f.mu.Lock()
	f.records = append(f.records, r)
	f.mu.Unlock()
	o.rec.Store(r)
}

// everySecond sets the thresholds, unless a trace is being read.
func (f *flight) everySecond() {
	f.second.Reset(time.Second) // after close it finds nothing to do
	if !f.busy.TryLock() {
		return
	}
	defer f.busy.Unlock()
	if !f.on {
		f.second.Stop()
		return
	}
	f.machine.Note()
	losses.Look()
	f.tick(time.Now())
}

// ask has take called, now or at the time in f.next if that is later, because an operation was
// slow. A timer waits for that time, and no goroutine.
func (f *flight) ask() {
	if !f.asked.Swap(true) {
		time.AfterFunc(time.Duration(f.next.Load())-time.Since(f.began), f.take)
	}
}

// take keeps a trace of the operation that is to be kept next.
func (f *flight) take() {
	f.busy.Lock()
	defer f.busy.Unlock()
	if !f.on {
		return
	}
	defer func() { // also if the function for the phase ends the goroutine
		f.asked.Store(false) // before best is loaded: an offer until now has not asked
		if f.best.Load() != nil {
			f.ask()
		}
	}()
	c, now := f.best.Swap(nil), time.Now()
	switch {
	case c == nil:
	case now.Sub(c.End) > time.Duration(f.fresh.Load()): // the next will be kept at once
		f.drop("An operation had ended too long ago when it was its turn: the trace would " +
			"hardly have had it.")
	default:
		f.keep(c)
		f.next.Store(int64(time.Since(f.began) + max(f.cfg.Every, 20*time.Since(now))))
	}
}

func (f *flight) tick(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.marks.left.Store(marksASecond)
	for _, r := range f.records {
		r.tick(now, f.cfg)
	}
}

// keep takes the trace in which c ends, reads it and keeps both.
func (f *flight) keep(c *Slow) {
	if f.cfg.Above == 0 && !c.usual {
		c.Percentile = f.cfg.Percentile
	}
	c.Phase = f.phase()
	meanwhile := f.machine.Since(c.End.Add(-c.Took))
	buf := &boundedBuffer{max: 4 * f.cfg.MaxBytes}
	if _, err := f.rec.WriteTo(buf); err != nil {
		f.drop(fmt.Sprintf("A trace was dropped: %v.", err))
		return
	}
	c.Data = bytes.Clone(buf.Bytes())
	f.sums.Longest = min(f.marks.longest(), f.cfg.MinAge)
	report, tails, last, err := slow.FromTrace(bytes.NewReader(c.Data), c.mark, c.Took, meanwhile,
		f.sums)
	f.sums.After = last
	f.mu.Lock()
	f.tails.add(time.Now(), tails)
	f.mu.Unlock()
	switch {
	case errors.Is(err, slow.ErrNoMark):
		f.setFresh(time.Duration(f.fresh.Load()) / 2)
		f.drop("The program has so many events that a trace did not have the end of the " +
			"operation any more. Raise the size.")
		return
	case err != nil:
		c.Problem = err.Error()
	default:
		c.Report = report
		f.setFresh(min(report.End+time.Since(c.End), f.cfg.MinAge) / 2)
	}
	kept := *c // offers may still be compared with c
	if c.turns != nil {
		c.turns.Add(1)
		kept.turns = nil // it holds much
	}
	Keep(f.kept, &kept, f.cfg.Keep, f.cfg.Keep*f.cfg.MaxBytes)
}

// setFresh sets for how long after its end an operation may be kept. d is about half of the time
// that traces reach back: later the start of the operation may be lost.
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
		return 0, fmt.Errorf("it was larger than %s", humanize.Bytes(int64(b.max)))
	}
	return b.Buffer.Write(p)
}

// offer takes an operation that was slow or, with threshold 0, a usual one that a visitor asked
// for. It leaves a mark for the operation in the trace, if this second may have one more, and has
// the operation kept unless a preferable one is waiting.
func (f *flight) offer(r *record, d, threshold time.Duration) {
	this := Slow{Op: r.op.name, Took: d, Threshold: threshold, End: time.Now(), turns: &r.turns,
		Count: r.slow.Load(), usual: threshold == 0}
	if this.usual {
		this.Op += ", a usual one"
	}
	best := f.best.Load()
	loses := this.losesTo(best, f.fresh.Load())
	if loses && !f.marks.may() {
		return
	}
	f.marks.note(d)
	this.mark = lastMark.Add(1)
	slow.Mark(this.mark, this.Op, d, this.End) // before it can be found
	if loses {
		return
	}
	c := new(Slow)
	*c = this
	for !f.best.CompareAndSwap(best, c) {
		if best = f.best.Load(); c.losesTo(best, f.fresh.Load()) {
			return
		}
	}
	f.ask()
}

// lastMark has the number of the newest mark of the process.
var lastMark atomic.Uint64
