//go:build mvcccheck

package gc

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/invariant"
)

// The invariants of views, evaluated in builds with the tag mvcccheck; see
// package invariant.

// checkInstalled checks that v was made and that the newest view is v or newer, as views only get
// newer. It also checks I1 of v and of the newest view.
func (r *Reclaimer) checkInstalled(v *View) {
	newest := invariant.PeekPointer[View](unsafe.Pointer(&r.view))
	if newest == nil || newest.Bound < v.Bound {
		invariant.Violated("a view of bound %d was made, and the newest is %+v", v.Bound, newest)
	}
	r.cfg.Slots.CheckView(&v.View)
	r.cfg.Slots.CheckView(&newest.View)
}
