package linear

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// A Result is what Check found out.
type Result struct {
	Ops     int // operations looked at
	Keys    int // keys that were decided
	Unknown int // keys that could not be decided in time

	// Violation is the first key whose operations are not linearizable, or
	// nil.
	Violation *Violation
}

// A Violation is a stretch of the operations on one key that no order explains.
type Violation struct {
	Key int
	Of  int  // operations on the key altogether
	Ops []Op // the stretch, by the time of the call; what only read is left out where it can be

	first state // what the key holds before Ops
}

// Error says what happened, in one line.
func (v *Violation) Error() string {
	return fmt.Sprintf("not linearizable: %d operations on key %d have no order that explains what they returned", len(v.Ops), v.Key)
}

// Detail lists the operations of the stretch.
func (v *Violation) Detail() string {
	start := "Nothing is assumed of what the key held before."
	if v.first.known {
		start = "The key was absent before."
	}
	return fmt.Sprintf("%v:\n%s%s\n", v.Error(), describe(v.Ops), start)
}

// maxVisual bounds what is drawn: the picture grows with the square.
const maxVisual = 1000

// Visualize writes a page that shows the stretch and how far each attempt to
// order it gets. It writes nothing if there are too many operations to be
// looked at.
func (v *Violation) Visualize(w io.Writer) error {
	if len(v.Ops) > maxVisual {
		return nil
	}
	m := model(v.first)
	_, info := porcupine.CheckOperationsVerbose(m, operations(v.Ops), 10*time.Second)
	return porcupine.Visualize(m, info, w)
}

// Check looks for a key of h whose operations are not linearizable. The problem
// is hard in general: a key that takes longer than timeout (0: no limit) counts
// as unknown, never as right.
func Check(h *History, timeout time.Duration) Result {
	first := state{}
	if h.Fresh {
		first = absent
	}
	r := Result{Ops: len(h.Ops)}
	byKey := h.byKey()
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		ops := byKey[key]
		switch decide(first, ops, timeout) {
		case porcupine.Ok:
			r.Keys++
		case porcupine.Illegal:
			r.Keys++
			r.Violation = shrink(key, first, ops, timeout)
			return r
		default:
			r.Unknown++
		}
	}
	return r
}

func decide(first state, ops []Op, timeout time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(model(first), operations(ops), timeout)
}

// shrink returns a short stretch of ops, which are not linearizable. It ends with
// the first return that cannot be explained, and begins as late as it can.
func shrink(key int, first state, ops []Op, timeout time.Duration) *Violation {
	of := len(ops)
	illegal := func(first state, ops []Op) bool { return decide(first, ops, timeout) == porcupine.Illegal }

	// What has happened until a moment can be explained if all can.
	ends := make([]int64, len(ops))
	for i, o := range ops {
		ends[i] = o.Return
	}
	slices.Sort(ends)
	i := sort.Search(len(ends)-1, func(i int) bool { return illegal(first, until(ops, ends[i])) })
	ops = until(ops, ends[i])
	slices.SortStableFunc(ops, func(a, b Op) int { return cmp.Compare(a.Call, b.Call) })

	// What follows a moment at which nothing runs can be explained, from some
	// state, if all can.
	cut := func() {
		cuts := quiescent(ops)
		n := sort.Search(len(cuts), func(i int) bool { return !illegal(state{}, ops[cuts[i]:]) })
		if n > 0 {
			first, ops = state{}, ops[cuts[n-1]:]
		}
	}
	cut()
	// An operation that changes nothing only restricts the others.
	for n := len(ops) / 2; n > 0 && len(ops) <= maxThinned; n /= 2 {
		for i := 0; i < len(ops); {
			if fewer := without(ops, i, n); len(fewer) < len(ops) && illegal(first, fewer) {
				ops = fewer
			} else {
				i += n
			}
		}
	}
	cut()
	return &Violation{Key: key, Of: of, Ops: ops, first: first}
}

// maxThinned bounds the attempts to do without operations.
const maxThinned = 2000

// without returns ops but for those of the n from i that change nothing.
func without(ops []Op, i, n int) []Op {
	fewer := slices.Clone(ops[:i])
	for j := i; j < len(ops); j++ {
		if j >= i+n || !ops[j].changesNothing() {
			fewer = append(fewer, ops[j])
		}
	}
	return fewer
}

// changesNothing reports whether o leaves the key as it was, wherever it comes
// in the order.
func (o *Op) changesNothing() bool {
	switch o.Kind {
	case Load, View:
		return true
	case LoadOrStore:
		return o.OK && !o.pending
	case LoadAndDelete, CompareAndSwap:
		return !o.OK && !o.pending
	}
	return false
}

// until returns the operations that were called before or at time t, as they
// stand at t.
func until(ops []Op, t int64) []Op {
	var some []Op
	for _, o := range ops {
		if o.Call <= t {
			o.pending = o.pending || o.Return > t
			some = append(some, o)
		}
	}
	return some
}

// quiescent returns the indexes at which ops, sorted by the call, can be cut
// without cutting an operation.
func quiescent(ops []Op) (cuts []int) {
	for i, end := 0, int64(-1); i < len(ops) && !ops[i].pending; i++ {
		if ops[i].Call > end && i > 0 {
			cuts = append(cuts, i)
		}
		end = max(end, ops[i].Return)
	}
	return cuts
}
