package bench

import (
	"context"
	"runtime/pprof"
	"sync/atomic"
)

// operationLabel is the profiler label that names the operation of a goroutine. A goroutine with
// one kind of operation has the label all the time, which costs nothing; for several kinds see
// [Trial.LabelOperations].
const operationLabel = "operation"

// auditOperation is the value of operationLabel for the auditor.
const auditOperation = "audit"

// LabelOperations sets whether goroutines that do several kinds of operation get the profiler label
// "operation". While they do, each change of kind takes 20 ns or so; otherwise an operation loads
// one more word, which is hardly ever written to. The labels are meant to be on while a CPU profile
// is taken. A goroutine that does one kind alone has its label in any case. LabelOperations may be
// called by any goroutine, at any time.
func (t *Trial) LabelOperations(on bool) { t.labelling.Store(on) }

// labelling is read before operations, and hardly ever written to.
type labelling struct {
	_ [128]byte
	atomic.Bool
	_ [128]byte
}

// A labeller gives its goroutine the labels of its operation.
type labeller struct {
	on    *labelling
	names []string          // of operations
	each  []context.Context // by their index
	now   *context.Context  // the element of each that the goroutine has; nil: none
	none  context.Context   // the labels of a goroutine without the name of an operation
}

// newLabeller returns a labeller for operations of the given names.
func newLabeller(on *labelling, names []string) labeller {
	return labeller{on: on, names: names, each: make([]context.Context, 0, len(names))}
}

// begin prepares l for a run whose goroutines have the labels of ctx. The goroutine sets the labels
// itself.
func (l *labeller) begin(ctx context.Context) {
	l.now, l.none, l.each = nil, ctx, l.each[:0]
	for _, name := range l.names {
		l.each = append(l.each, pprof.WithLabels(ctx, pprof.Labels(operationLabel, name)))
	}
}

// labelNext says that the operation with that index is next.
func (l *labeller) labelNext(i int) {
	if l.on.Load() || l.now != nil {
		l.set(&l.each[i])
	}
}

// set gives the goroutine the labels of *ctx or, if labels are not wanted any more, the labels that
// it had at first.
func (l *labeller) set(ctx *context.Context) {
	switch {
	case !l.on.Load():
		l.now = nil
		pprof.SetGoroutineLabels(l.none)
	case l.now != ctx:
		l.now = ctx
		pprof.SetGoroutineLabels(*ctx)
	}
}

// operationCounts says which of several operations a task does, and counts them. A task that has
// only one has no counts.
type operationCounts struct {
	now  int
	done []uint64 // that have committed, in the run
}

// count counts an operation that has committed.
func (c *operationCounts) count() {
	if c.now < len(c.done) {
		c.done[c.now]++
	}
}

// An OperationMeasurement has the times of one kind of operation, of a workload that has several.
type OperationMeasurement struct {
	Name string
	Ops  uint64 // that have committed
	// As in a [Measurement], but of this kind alone.
	Service, Response Distribution
}
