//go:build mvcccheck

package epoch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// Each invariant is seen to fire: the test breaks the state by hand.

func TestInvariantOfSlots(t *testing.T) {
	s := NewSlots()
	slot := s.Acquire()
	stage.RequireViolation(t, "has not begun", func() { slot.CheckBegun(slot.Gen()) })
	stage.RequireViolation(t, "not live", func() { slot.CheckLive(slot.Gen()) })
	at := s.Begin(slot, 0)
	gen := slot.Gen()
	slot.CheckLive(gen)
	stage.RequireViolation(t, "has not ended", func() { s.Begin(slot, 0) })
	stage.RequireViolation(t, "is live", func() { s.Release(slot) })
	slot.released.Store(false)
	slot.group.owned |= slot.groupBit()
	slot.placeInGroup().Store(slot)

	s.Next()
	m := s.Announce()
	sound := func() *View { return &View{Bound: m, Writers: m, young: []Epoch{at}} }
	s.CheckView(sound())
	s.CheckView(&View{Bound: at})
	stage.RequireViolation(t, "I1", func() { s.CheckView(&View{Bound: m}) })
	stage.RequireViolation(t, "I6", func() { s.CheckView(&View{Bound: m + 1, young: []Epoch{at}}) })
	stage.RequireViolation(t, "I6", func() {
		s.CheckView(&View{Bound: m, Writers: m + 1, young: []Epoch{at}})
	})
	stage.RequireViolation(t, "sorted", func() { s.CheckView(&View{Bound: m, old: []Epoch{2, 1}}) })
	stage.RequireViolation(t, "below the bound", func() { s.CheckView(&View{Bound: m, young: []Epoch{m}}) })
	stage.RequireViolation(t, "I6", func() { s.Look(new(View), m+1, nil) })
	s.CheckNoneBelow(at, false, "test")
	s.CheckNoneBelow(m, true, "test")
	stage.RequireViolation(t, "below", func() { s.CheckNoneBelow(m, false, "test") })
	stage.RequireViolation(t, "the bound is", func() { s.checkAnnounced(m + 1) })
	stage.RequireViolation(t, "publishes", func() { s.checkBegun(slot, m) })
	s.bound.Store(uint64(m) + 1)
	stage.RequireViolation(t, "the bound is", func() { s.checkAnnounced(m) })

	writer := s.Acquire()
	s.bound.Store(0)
	e := s.Begin(writer, MayWrite)
	s.Next()
	m = s.Announce()
	stage.RequireViolation(t, "may write", func() {
		s.CheckView(&View{Bound: m, Writers: m, young: []Epoch{at, e}})
	})
	stage.RequireViolation(t, "below", func() { s.CheckNoneBelow(m, true, "test") })

	require.True(t, slot.End(gen))
	require.True(t, writer.End(writer.Gen()))
	s.CheckNoneBelow(m, false, "nothing is live any more")
	writer.group.scan.And(^writer.groupBit())
	stage.RequireViolation(t, "do not look", func() { s.Begin(writer, 0) })
	s.Release(slot)
	stage.RequireViolation(t, "nobody owns", func() { s.Begin(slot, 0) })
	p := pins{list: []pin{{Pin: Pin{Epoch: 2, slot: slot}}, {Pin: Pin{Epoch: 1, slot: slot}}}}
	slot.pin = 1
	stage.RequireViolation(t, "comes after", p.check)
	p.list[1].Epoch = 3
	stage.RequireViolation(t, "the slot of pin", p.check)
}
