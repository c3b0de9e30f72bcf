package profiling

import (
	"context"
	"runtime/pprof"
)

// Labels are profiler labels that were put together in advance, so that a
// goroutine can be labelled for a phase or for a single operation: CPU and
// goroutine profiles can then be filtered and split by them. Changing the
// labels of a goroutine in this way takes about 20 ns and allocates nothing;
// [pprof.Do] takes ten times as long and allocates. The zero Labels are
// empty. Labels are immutable and may be used by several goroutines.
type Labels struct {
	ctx, outer context.Context
}

// NewLabels returns labels from names and values in turn; it panics if there is
// a name without a value.
func NewLabels(pairs ...string) Labels { return Labels{}.With(pairs...) }

// With returns l and further labels, which replace those of the same name.
func (l Labels) With(pairs ...string) Labels {
	outer := l.context()
	return Labels{ctx: pprof.WithLabels(outer, pprof.Labels(pairs...)), outer: outer}
}

func (l Labels) context() context.Context {
	if l.ctx == nil {
		return context.Background()
	}
	return l.ctx
}

// Set gives the calling goroutine the labels l and no others, until they are
// set again. Goroutines that it starts inherit them.
func (l Labels) Set() { pprof.SetGoroutineLabels(l.context()) }

// Do calls f with the labels l. Afterwards, also if f panics, the goroutine has
// the labels that l was made from with [Labels.With]:
//
//	worker := profiling.NewLabels("worker", "7")
//	reading := worker.With("operation", "read")
//	worker.Set()
//	reading.Do(read) // then only worker=7 again
func (l Labels) Do(f func()) {
	defer Labels{ctx: l.outer}.Set()
	l.Set()
	f()
}

// LabelUpdate is for Options.Around of package mvcc: it labels what an Update does with the name of
// the transaction and that of the table, as mvcc_tx and mvcc_table, each if there is one. The labels
// that ctx has are kept; others, that the goroutine had, are gone afterwards. It costs about half a
// microsecond and some allocations. A goroutine that is started meanwhile keeps the labels: that of
// the background work, which an Update may start, has [github.com/mvccmap/mvccmap/gc.Reclaimer] on
// its stack.
func LabelUpdate(ctx context.Context, tx, table string, run func(ctx context.Context)) {
	var pairs []string
	if tx != "" {
		pairs = append(pairs, "mvcc_tx", tx)
	}
	if table != "" {
		pairs = append(pairs, "mvcc_table", table)
	}
	pprof.Do(ctx, pprof.Labels(pairs...), run)
}
