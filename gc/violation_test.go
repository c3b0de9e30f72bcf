//go:build mvcccheck

package gc

import (
	"testing"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// Each invariant is seen to fire: the test breaks the state by hand.

func TestInvariantOfViews(t *testing.T) {
	slots := epoch.NewSlots()
	r := NewReclaimer(Config{Slots: slots})
	defer r.Stop()
	older := r.View()
	slots.Begin(slots.Acquire(), 0)
	slots.Next()
	newer := new(View)
	slots.Look(&newer.View, slots.Announce(), nil)
	stage.RequireViolation(t, "the newest is", func() { r.checkInstalled(newer) })
	r.view.Store(newer)
	r.checkInstalled(older)
	newer.View = epoch.View{Bound: 2}
	stage.RequireViolation(t, "I1", func() { r.checkInstalled(newer) })
}

func TestInvariantOfWaits(t *testing.T) {
	var s stock
	s.shelve([]Wait{{Epoch: 1, What: Item{}}})
	s.waits.Store(0)
	stage.RequireViolation(t, "more waits came due", func() { s.due(&View{}, 1) })
}
