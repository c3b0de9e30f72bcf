package gc

import (
	"slices"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/invariant"
)

// The invariants of views, marks and queue, evaluated in builds with the tag
// mvccinvariants; see package invariant.

// check: a view's live epochs are sorted, distinct and below its bound. They may
// be below epoch.First: a slot whose first transaction began and ended between the
// two loads of a scan seems to be live at 0, see [epoch.Slots.Live].
func (v *View) check() {
	if !slices.IsSorted(v.Live) || len(slices.Compact(slices.Clone(v.Live))) != len(v.Live) ||
		len(v.Live) > 0 && v.Live[len(v.Live)-1] >= v.Bound {
		invariant.Violated("a view has bound %d and live epochs %v: want them sorted, distinct, below the bound", v.Bound, v.Live)
	}
}

// checkInstalled: v was made, or found to be older than newest. Views only get
// newer, and I1 holds of each.
func (r *Reclaimer[E, V]) checkInstalled(v *View) {
	v.check()
	newest := invariant.PeekPointer[View](unsafe.Pointer(&r.view))
	if newest == nil || newest.Bound < v.Bound {
		invariant.Violated("a view of bound %d was made, and the newest is %+v", v.Bound, newest)
	}
	r.slots.CheckView(v.Bound, v.Live)
	r.slots.CheckView(newest.Bound, newest.Live)
}

// check: a mark has no bits but those that mean something, and one that comes off
// was on: an item is queued once, and set aside once for each reason that has a bit.
func (m *Mark) check(bits, off uint32) {
	if bits&^(markQueued|markTombstone|markLeft) != 0 || bits&off != off {
		invariant.Violated("a mark is %#b, and %#b comes off it", bits, off)
	}
}

// checkDequeued: what comes out of the queue was put in.
func (r *Reclaimer[E, V]) checkDequeued() {
	if out, in := r.ghost.dequeued.Add(1), r.ghost.offered.Load(); int64(out) > int64(in) {
		invariant.Violated("%d items were dequeued, %d queued", out, in)
	}
}

// ghost is what only the invariants know of a reclaimer.
type ghost struct {
	offered  invariant.Ghost // items that were queued, or are about to be
	dequeued invariant.Ghost
}
