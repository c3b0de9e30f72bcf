//go:build mvcccheck

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
	at := s.Begin(slot, 0)
	gen := slot.Gen()
	slot.CheckLive(gen)
	requireViolation(t, "has not ended", func() { s.Begin(slot, 0) })
	requireViolation(t, "is live", func() { s.Release(slot) })
	slot.released.Store(false)
	slot.group.owned |= slot.bit()
	slot.at().Store(slot)

	s.Next()
	m := s.Announce()
	sound := func() *View { return &View{Bound: m, Writers: m, young: []Epoch{at}} }
	s.CheckView(sound())
	s.CheckView(&View{Bound: at})
	requireViolation(t, "I1", func() { s.CheckView(&View{Bound: m}) })
	requireViolation(t, "I6", func() { s.CheckView(&View{Bound: m + 1, young: []Epoch{at}}) })
	requireViolation(t, "I6", func() {
		s.CheckView(&View{Bound: m, Writers: m + 1, young: []Epoch{at}})
	})
	requireViolation(t, "sorted", func() { s.CheckView(&View{Bound: m, old: []Epoch{2, 1}}) })
	requireViolation(t, "below the bound", func() { s.CheckView(&View{Bound: m, young: []Epoch{m}}) })
	requireViolation(t, "I6", func() { s.Look(new(View), m+1, nil) })
	s.CheckNoneBelow(at, false, "test")
	s.CheckNoneBelow(m, true, "test")
	requireViolation(t, "below", func() { s.CheckNoneBelow(m, false, "test") })
	requireViolation(t, "the bound is", func() { s.checkAnnounced(m + 1) })
	requireViolation(t, "publishes", func() { s.checkBegun(slot, m) })
	s.bound.Store(uint64(m) + 1)
	requireViolation(t, "the bound is", func() { s.checkAnnounced(m) })

	writer := s.Acquire()
	s.bound.Store(0)
	e := s.Begin(writer, MayWrite)
	s.Next()
	m = s.Announce()
	requireViolation(t, "may write", func() {
		s.CheckView(&View{Bound: m, Writers: m, young: []Epoch{at, e}})
	})
	requireViolation(t, "below", func() { s.CheckNoneBelow(m, true, "test") })

	require.True(t, slot.End(gen))
	require.True(t, writer.End(writer.Gen()))
	s.CheckNoneBelow(m, false, "nothing is live any more")
	writer.group.scan.And(^writer.bit())
	requireViolation(t, "do not look", func() { s.Begin(writer, 0) })
	s.Release(slot)
	requireViolation(t, "nobody owns", func() { s.Begin(slot, 0) })
	p := pins{list: []pin{{Pin: Pin{Epoch: 2, slot: slot}}, {Pin: Pin{Epoch: 1, slot: slot}}}}
	slot.pin = 1
	requireViolation(t, "comes after", p.check)
	p.list[1].Epoch = 3
	requireViolation(t, "the slot of pin", p.check)
}
