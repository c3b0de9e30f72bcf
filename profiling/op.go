package profiling

import (
	"context"
	"runtime/pprof"
	"time"

	"github.com/mvccmap/mvccmap/profiling/internal/flight"
)

// An Op is a kind of operation of the program, such as "checkout". The dashboard and
// /metrics say how many there were, how many failed and how long they took, and the slow
// ones can be explained: see [SlowConfig]. Get one with [Service.Op], or have
// [Service.Wrap] make them of HTTP requests. Its methods may be called from several
// goroutines; a nil Op does nothing.
type Op flight.Op

// Name returns the name of the operation.
func (o *Op) Name() string {
	if o == nil {
		return ""
	}
	return (*flight.Op)(o).Name()
}

// Done says that the calling goroutine has just ended an operation of this kind that took d. It
// counts d in a histogram, which takes some ten nanoseconds, and while slow operations are recorded
// it compares d with a threshold. If d is above the threshold, Done leaves a mark in the trace and
// offers the operation to be kept, which takes about a microsecond and allocates. Done never
// blocks.
func (o *Op) Done(d time.Duration) {
	if o != nil {
		(*flight.Op)(o).Count(d, false)
	}
}

// Failed is Done for an operation that did not succeed. The operation also counts as an error.
func (o *Op) Failed(d time.Duration) {
	if o != nil {
		(*flight.Op)(o).Count(d, true)
	}
}

// Watch has an operation explained, if it was slow, as Done does, but does not count it: for a
// program that counts in its own way, such as a load generator with a [Config.Workload]. While slow
// operations are not recorded Watch costs 3 ns.
func (o *Op) Watch(d time.Duration) {
	if o != nil {
		(*flight.Op)(o).Watch(d)
	}
}

// SlowConfig says which operations are slow, and how much of them is kept.
//
// While slow operations are recorded, the runtime's flight recorder is on: it holds the last
// seconds of an execution trace. When an [Op] takes longer than usual, the trace is kept and read,
// and the page /debug/pprof/slow/ lists the waits of the operation. Nothing is recorded unless
// [Config.Slow], [Service.StartSlow] or a visitor of that page turns it on.
//
// All slow operations leave a mark in the trace, at most a thousand a second beside those that are
// kept. The page sums up their activities, by name, of the last five minutes.
//
// The trace costs a program that does nothing but wake goroutines more than half of its speed, one
// with goroutines that fight for a lock a fifth, and one that seldom waits hardly anything; see
// [Service.Instrumented]. It takes about MaxBytes of memory, and as much again for each trace kept.
// To keep a trace takes some milliseconds. To read it takes one processor for about 0.3 µs per
// event, one or two seconds for 10 MB, and meanwhile ten times its size of memory. At most a
// twentieth of a processor is spent in this way, so that a program of very many events has traces
// kept less often than Every says.
type SlowConfig struct {
	// Percentile is the percentile above which an operation is slow, among the durations of the
	// same Op in the last minute. The default is 99.9. It is known if ten operations lie beyond it:
	// for 99.9 that takes 10 000.
	Percentile float64

	// Above, if positive, is the duration above which an operation is slow, whatever is usual.
	// Percentile then does not matter.
	Above time.Duration

	// MinAge is how far traces should reach back, and so the longest operation
	// that can be explained from its start. The default is 5 s.
	MinAge time.Duration

	// MaxBytes is how large a trace may become; a program with many events has
	// then less than MinAge of it. It is a hint to the runtime, which traces
	// in parts of about a second and keeps at least one; a trace of more than
	// four times as much is dropped. The default is 10 MB, the largest 256 MB.
	MaxBytes int

	// Every is the shortest time between two traces kept. Of the slow operations meanwhile one is
	// kept: from the Op of which the fewest were kept, the one that cost most. The cost is the time
	// above the threshold, times the number of slow operations of the Op. The default is 3 s.
	Every time.Duration

	// Keep is how many traces are kept. A newer one replaces the oldest of the Op that has most,
	// but none of the half of these that cost most, as Every defines the cost. Together the traces
	// are not larger than Keep times MaxBytes. The default is 8.
	Keep int

	_ struct{}
}

func (c SlowConfig) flight() flight.Config {
	return flight.Config{
		Percentile: c.Percentile, Above: c.Above, MinAge: c.MinAge, MaxBytes: c.MaxBytes,
		Every: c.Every, Keep: c.Keep,
	}
}

// Op returns the kind of operation with the given name, the same each time. It
// takes a lock; keep the result. Names should be few: each takes up to half a megabyte,
// and as much again while slow operations are recorded. Beyond two hundred, the others are
// "other operations". Bytes of a name that are not UTF-8 are written as \xff. The first eight
// that are counted get charts; all of them are in the dashboard's table and in /metrics.
//
//	checkout := service.Op("checkout")
//	...
//	start := time.Now()
//	checkOut(cart)
//	checkout.Done(time.Since(start))
func (s *Service) Op(name string) *Op { return (*Op)(s.slow.Op(name)) }

// StartSlow starts to record slow operations; if they are being recorded, it starts anew under cfg.
// Kept operations stay. The error names the fault of cfg, or says that the flight recorder of the
// process is in use elsewhere.
func (s *Service) StartSlow(cfg SlowConfig) error { return s.slow.Start(cfg.flight()) }

// StopSlow ends the recording of slow operations, if there is one, and waits until it has ended.
// Kept operations stay.
func (s *Service) StopSlow() { s.slow.Stop() }

// LabelUpdate is for Options.Around of package mvcc: it labels the work of an Update with the name
// of the transaction and that of the table, as mvcc_tx and mvcc_table, each if there is one. Labels
// of ctx are kept; labels that only the goroutine had are gone afterwards. It costs about half a
// microsecond and some allocations. A goroutine that is started meanwhile inherits the labels. So
// does the background work, if an Update starts it: its stack has
// [github.com/mvccmap/mvccmap/gc.Reclaimer].
func LabelUpdate(ctx context.Context, tx, table string) (inside context.Context, after func()) {
	var pairs []string
	if tx != "" {
		pairs = append(pairs, "mvcc_tx", tx)
	}
	if table != "" {
		pairs = append(pairs, "mvcc_table", table)
	}
	inside = pprof.WithLabels(ctx, pprof.Labels(pairs...))
	pprof.SetGoroutineLabels(inside)
	return inside, func() { pprof.SetGoroutineLabels(ctx) }
}
