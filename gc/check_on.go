//go:build mvcccheck

package gc

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/invariant"
)

// The invariants of views, evaluated in builds with the tag mvcccheck; see
// package invariant.

// checkInstalled: v was made, and the newest view is v or newer. Views only get newer, and I1 holds
// of each.
func (r *Reclaimer) checkInstalled(v *View) {
	newest := invariant.PeekPointer[View](unsafe.Pointer(&r.view))
	if newest == nil || newest.Bound < v.Bound {
		invariant.Violated("a view of bound %d was made, and the newest is %+v", v.Bound, newest)
	}
	r.cfg.Slots.CheckView(&v.View)
	r.cfg.Slots.CheckView(&newest.View)
}
