package flight

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/hist"
)

// An Op is a kind of operation of the program. Its methods may be called from
// several goroutines.
type Op struct {
	name string
	rec  atomic.Pointer[record] // nil while nobody records
}

// Name returns the name of the operation.
func (o *Op) Name() string { return o.name }

// Done says that the calling goroutine has just ended an operation of this kind
// that took d. It never blocks.
func (o *Op) Done(d time.Duration) {
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

// A record counts what an Op took, as long as that is recorded.
type record struct {
	op        *Op
	flight    *flight
	threshold atomic.Int64  // in nanoseconds; beyond it operations are slow
	slow      atomic.Uint64 // how many were
	shards    []hist.Recorder
	shift     uint // of a hash, to leave the number of a shard

	// Of the flight's goroutine, and under its lock.
	last    recent
	past    []*hist.Hist // all counts at each step, the oldest first
	stepped time.Time    // when the newest was added
}

// recent says what operations took of late.
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
	n, log := 1, uint(0)
	for n < min(runtime.GOMAXPROCS(0), maxShards) {
		n, log = 2*n, log+1
	}
	r := &record{op: o, flight: f, shards: make([]hist.Recorder, n), shift: 64 - log, stepped: now}
	r.past = []*hist.Hist{new(hist.Hist)}
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

// done records one operation.
func (r *record) done(d time.Duration) {
	r.shard().Record(int64(d))
	if t := r.threshold.Load(); int64(d) > t {
		r.slow.Add(1)
		r.flight.offer(r.op.name, d, time.Duration(t))
	}
}

// shard returns where the calling goroutine counts. Goroutines have stacks of
// their own, so the address of a variable tells them apart; which histogram one
// of them gets does not matter, as long as not all of them get the same.
func (r *record) shard() *hist.Recorder {
	var here byte
	const golden = 0x9e3779b97f4a7c15
	stack := uint64(uintptr(unsafe.Pointer(&here))) >> 11 // the smallest stack has 2 KB
	return &r.shards[stack*golden>>1>>(r.shift-1)]
}

// tick works out what operations took of late, and the threshold.
func (r *record) tick(now time.Time, cfg Config) {
	all := new(hist.Hist)
	for i := range r.shards {
		r.shards[i].AddTo(all)
	}
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
