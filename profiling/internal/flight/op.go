package flight

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/bench/hist"
)

// An Op is a kind of operation of the program. Its methods may be called from
// several goroutines.
type Op struct {
	name    string
	counted atomic.Bool // Count was called
	errors  atomic.Uint64
	counts  atomic.Pointer[counts] // nil before the first operation
	rec     atomic.Pointer[record] // nil while nothing is recorded
}

// Name returns the name of the operation.
func (o *Op) Name() string { return o.name }

// Count says that the calling goroutine has just ended an operation of this kind that took d.
// It never blocks.
func (o *Op) Count(d time.Duration, failed bool) {
	if !o.counted.Load() {
		o.counted.Store(true)
	}
	if failed {
		o.errors.Add(1)
	}
	o.made().add(d)
	if r := o.rec.Load(); r != nil {
		r.judge(d)
	}
}

// Watch is Count of an operation that only matters if it was slow. It never blocks.
func (o *Op) Watch(d time.Duration) {
	if r := o.rec.Load(); r != nil {
		o.made().add(d)
		r.judge(d)
	}
}

// made returns the counts.
func (o *Op) made() *counts {
	if c := o.counts.Load(); c != nil {
		return c
	}
	o.counts.CompareAndSwap(nil, newCounts())
	return o.counts.Load()
}

// Totals returns the operations counted since the program began; ok is false if there are none. It
// takes some microseconds.
func (o *Op) Totals() (h *hist.Hist, errors uint64, ok bool) {
	if !o.counted.Load() {
		return nil, 0, false
	}
	errors = o.errors.Load() // first, so that there are not more than operations
	return o.made().all(), errors, true
}

// maxShards bounds the memory of an Op: a histogram takes 36 KB.
const maxShards = 8

// counts has how many operations took how long. Goroutines count in several histograms, so
// that they do not fight for cache lines.
type counts struct {
	shards []hist.Recorder
	shift  uint // shifted by it, a hash is the number of a shard
}

func newCounts() *counts {
	n, log := 1, uint(0)
	for n < min(runtime.GOMAXPROCS(0), maxShards) {
		n, log = 2*n, log+1
	}
	return &counts{shards: make([]hist.Recorder, n), shift: 64 - log}
}

func (c *counts) add(d time.Duration) { c.shard().Record(int64(d)) }

// shard returns the histogram in which the calling goroutine counts. Goroutines have stacks of
// their own, so the address of a variable tells them apart. It does not matter which histogram a
// goroutine gets, as long as not all get the same.
func (c *counts) shard() *hist.Recorder {
	var here byte
	const golden = 0x9e3779b97f4a7c15
	stack := uint64(uintptr(unsafe.Pointer(&here))) >> 11 // the smallest stack has 2 KB
	return &c.shards[stack*golden>>1>>(c.shift-1)]
}

// all returns all counts as one histogram.
func (c *counts) all() *hist.Hist {
	h := new(hist.Hist)
	for i := range c.shards {
		c.shards[i].AddTo(h)
	}
	return h
}

// How the usual duration of operations is known: from the last minute or so.
const (
	recentStep  = 10 * time.Second
	recentSteps = 6
)

// A record finds the slow ones among the operations of an Op, during one recording.
type record struct {
	op        *Op
	flight    *flight
	threshold atomic.Int64  // in nanoseconds; longer operations are slow
	slow      atomic.Uint64 // how many were
	turns     atomic.Int64  // how many of them were kept
	usual     atomic.Bool   // the next one that is not slow, but took as long as most, is wanted
	median    atomic.Int64  // of their durations of late

	// Under the locks of the flight.
	last    recent
	past    []*hist.Hist // all counts at each step, the oldest first
	stepped time.Time    // when the newest was added
}

// recent has the durations of operations of late.
type recent struct {
	Count     uint64        `json:"count"`
	P50       time.Duration `json:"p50_ns"`
	P99       time.Duration `json:"p99_ns"`
	Max       time.Duration `json:"max_ns"`
	Threshold time.Duration `json:"threshold_ns"` // 0: not enough operations yet
	// Missing is how many more operations of the last minute it takes to know the threshold.
	Missing uint64 `json:"missing,omitempty"`
}

func newRecord(o *Op, f *flight, now time.Time) *record {
	r := &record{op: o, flight: f, stepped: now}
	r.past = []*hist.Hist{o.made().all()}
	r.setThreshold(f.cfg.Above)
	return r
}

// setThreshold sets the threshold; 0 means that nothing is beyond it.
func (r *record) setThreshold(d time.Duration) {
	r.last.Threshold = d
	if d <= 0 {
		d = math.MaxInt64
	}
	r.threshold.Store(int64(d))
}

// judge offers an operation to the flight if it was slow, or is the usual one that was asked for.
func (r *record) judge(d time.Duration) {
	if t := r.threshold.Load(); int64(d) > t {
		r.slow.Add(1)
		r.flight.offer(r, d, time.Duration(t))
	} else if r.usual.Load() && int64(d) >= r.median.Load() && r.usual.CompareAndSwap(true, false) {
		r.flight.offer(r, d, 0)
	}
}

// tick computes the durations of operations of late, and the threshold.
func (r *record) tick(now time.Time, cfg Config) {
	all := r.op.made().all()
	late := *all
	late.Sub(r.past[0])
	if now.Sub(r.stepped) >= recentStep {
		r.past = append(r.past, all)
		if len(r.past) > recentSteps {
			r.past = r.past[1:]
		}
		r.stepped = now
	}
	r.last = recent{
		Count: late.Count(),
		P50:   time.Duration(late.Quantile(.5)),
		P99:   time.Duration(late.Quantile(.99)),
		Max:   time.Duration(late.Max()),
	}
	r.median.Store(int64(r.last.P50))
	switch q := cfg.Percentile / 100; {
	case cfg.Above > 0:
		r.setThreshold(cfg.Above)
	case late.Supports(q):
		r.setThreshold(max(time.Duration(late.Quantile(q)), 1))
	default:
		r.setThreshold(0)
		r.last.Missing = hist.Needed(q) - late.Count()
	}
}
