package profiling

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/hist"
	"github.com/mvccmap/mvccmap/profiling/internal/slow"
)

// An Op is a kind of operation of the program, such as "checkout", of which the
// slow ones can be explained: see [SlowConfig]. Get one with [Service.Op]. Its
// methods may be called from several goroutines; a nil Op does nothing.
type Op struct {
	name string
	rec  atomic.Pointer[opRecord] // nil while nobody records
}

// Name returns the name of the operation.
func (o *Op) Name() string {
	if o == nil {
		return ""
	}
	return o.name
}

// Done says that the calling goroutine has just ended an operation of this kind
// that took d. While slow operations are not recorded, this costs 3 ns.
// While they are, it counts d, which takes some ten nanoseconds, and compares it
// with a threshold; beyond that, it leaves a mark in the trace and wakes the
// goroutine that keeps it, which takes about a microsecond and allocates. It
// never blocks.
func (o *Op) Done(d time.Duration) {
	if o == nil {
		return
	}
	if r := o.rec.Load(); r != nil {
		r.done(d)
	}
}

// How the usual duration of operations is known: from the last minute or so.
const (
	recentStep  = 10 * time.Second
	recentSteps = 6
)

// maxShards bounds the memory of an Op: a histogram takes 36 KB.
const maxShards = 16

// An opRecord counts what an Op took, as long as that is recorded.
type opRecord struct {
	op        *Op
	flight    *flight
	threshold atomic.Int64  // in nanoseconds; beyond it operations are slow
	slow      atomic.Uint64 // how many were
	shards    []hist.Recorder
	shift     uint // of a hash, to leave the number of a shard

	// Of the flight's goroutine, and under its lock.
	recent  opRecent
	past    []*hist.Hist // all counts at each step, the oldest first
	stepped time.Time    // when the newest was added
}

// opRecent says what operations took of late.
type opRecent struct {
	Count     uint64        `json:"count"`
	P50       time.Duration `json:"p50_ns"`
	P99       time.Duration `json:"p99_ns"`
	Max       time.Duration `json:"max_ns"`
	Threshold time.Duration `json:"threshold_ns"` // 0: not enough operations yet
}

func newOpRecord(o *Op, f *flight, now time.Time) *opRecord {
	n, log := 1, uint(0)
	for n < min(runtime.GOMAXPROCS(0), maxShards) {
		n, log = 2*n, log+1
	}
	r := &opRecord{op: o, flight: f, shards: make([]hist.Recorder, n), shift: 64 - log, stepped: now}
	r.past = []*hist.Hist{new(hist.Hist)}
	r.setThreshold(f.cfg.Above)
	return r
}

// setThreshold sets the threshold; 0 means that nothing is beyond it.
func (r *opRecord) setThreshold(d time.Duration) {
	r.recent.Threshold = d
	if d <= 0 {
		d = math.MaxInt64
	}
	r.threshold.Store(int64(d))
}

// done records one operation.
func (r *opRecord) done(d time.Duration) {
	r.shard().Record(int64(d))
	if t := r.threshold.Load(); int64(d) > t {
		r.slow.Add(1)
		r.flight.offer(r.op, d, time.Duration(t))
	}
}

// shard returns where the calling goroutine counts. Goroutines have stacks of
// their own, so the address of a variable tells them apart; which histogram one
// of them gets does not matter, as long as not all of them get the same.
func (r *opRecord) shard() *hist.Recorder {
	var here byte
	const golden = 0x9e3779b97f4a7c15
	stack := uint64(uintptr(unsafe.Pointer(&here))) >> 11 // the smallest stack has 2 KB
	return &r.shards[stack*golden>>1>>(r.shift-1)]
}

// tick works out what operations took of late, and the threshold.
func (r *opRecord) tick(now time.Time, cfg SlowConfig) {
	all := new(hist.Hist)
	for i := range r.shards {
		r.shards[i].AddTo(all)
	}
	recent := *all
	recent.Sub(r.past[0])
	if now.Sub(r.stepped) >= recentStep {
		r.past = append(r.past, all)
		if len(r.past) > recentSteps {
			r.past = r.past[1:]
		}
		r.stepped = now
	}
	r.recent = opRecent{
		Count: recent.Count(),
		P50:   time.Duration(recent.Quantile(.5)),
		P99:   time.Duration(recent.Quantile(.99)),
		Max:   time.Duration(recent.Max()),
	}
	switch q := cfg.Percentile / 100; {
	case cfg.Above > 0:
		r.setThreshold(cfg.Above)
	case recent.Supports(q):
		r.setThreshold(max(time.Duration(recent.Quantile(q)), 1))
	default:
		r.setThreshold(0)
	}
}

// offer says that an operation was slow. It leaves a mark for it in the trace,
// unless a slower one is already waiting to be kept.
func (f *flight) offer(o *Op, d, threshold time.Duration) {
	this := slowOp{Op: o.name, Took: d, Threshold: threshold, End: time.Now()}
	best := f.best.Load()
	if this.losesTo(best, f.fresh.Load()) {
		return
	}
	c := new(slowOp)
	*c = this
	c.mark = lastMark.Add(1)
	slow.Mark(c.mark, c.End) // before it can be found
	for !f.best.CompareAndSwap(best, c) {
		if best = f.best.Load(); c.losesTo(best, f.fresh.Load()) {
			return
		}
	}
	select {
	case f.wake <- struct{}{}:
	default: // it is awake already
	}
}

// lastMark has the number of the newest mark of the process.
var lastMark atomic.Uint64
