//go:build mvcccheck

package gc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
)

// Each invariant is seen to fire: the test breaks the state by hand.

func requireViolation(t *testing.T, words string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		err, _ := recover().(error)
		require.ErrorContains(t, err, words)
	}()
	f()
}

func TestInvariantOfViews(t *testing.T) {
	slots := epoch.NewSlots()
	r := NewReclaimer(Config[int, int]{Slots: slots})
	defer r.Stop()
	older := r.View()
	slots.Begin(slots.Acquire(), 0)
	slots.Next()
	newer := new(View)
	slots.Look(&newer.View, slots.Announce(), nil)
	requireViolation(t, "the newest is", func() { r.checkInstalled(newer) })
	r.view.Store(newer)
	r.checkInstalled(older)
	newer.View = epoch.View{Bound: 2}
	requireViolation(t, "I1", func() { r.checkInstalled(newer) })
}

func TestInvariantOfWaits(t *testing.T) {
	var s stock[int, int]
	s.shelve([]Wait[int]{{Epoch: 1, What: 1}})
	s.waits.Store(0)
	requireViolation(t, "more waits came due", func() { s.due(&View{}, 1) })
}
