//go:build mvccinvariants

package epoch

import (
	"testing"

	"github.com/stretchr/testify/require"
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

func TestInvariantOfSlots(t *testing.T) {
	s := NewSlots()
	slot := s.Acquire()
	requireViolation(t, "has not begun", func() { slot.CheckBegun(slot.Gen()) })
	requireViolation(t, "not live", func() { slot.CheckLive(slot.Gen()) })
	at := s.Begin(slot)
	gen := slot.Gen()
	slot.CheckLive(gen)
	requireViolation(t, "has not ended", func() { s.Begin(slot) })
	requireViolation(t, "is live", func() { slot.checkOwner(1) })
	slot.ghost.idle.Store(0)

	s.Next()
	m := s.Announce()
	s.CheckView(m, []uint64{at})
	s.CheckView(at, nil)
	requireViolation(t, "I1", func() { s.CheckView(m, nil) })
	requireViolation(t, "I6", func() { s.CheckView(m+1, []uint64{at}) })
	requireViolation(t, "I6", func() { s.Live(m+1, nil) })
	s.CheckNoneBelow(at, "test")
	requireViolation(t, "below", func() { s.CheckNoneBelow(m, "test") })
	requireViolation(t, "the bound is", func() { s.checkAnnounced(m + 1) })
	requireViolation(t, "publishes", func() { s.checkBegun(slot, m) })
	s.bound.Store(m + 1)
	requireViolation(t, "the bound is", func() { s.checkAnnounced(m) })

	require.True(t, slot.End(gen))
	s.CheckNoneBelow(m, "nothing is live any more")
	s.Abandon(slot)
	requireViolation(t, "changes hands twice", func() { s.Abandon(slot) })
	requireViolation(t, "nobody owns", func() { s.Begin(slot) })
}
