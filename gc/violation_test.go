//go:build mvccinvariants

package gc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
)

// Each invariant is seen to fire: the test breaks the state by hand.

type item struct{ mark Mark }

func (i *item) Mark() *Mark { return &i.mark }

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
	(&View{Bound: 9, Live: []uint64{1, 5}}).check()
	for _, live := range [][]uint64{{5, 1}, {1, 1}, {9}, {10}} {
		requireViolation(t, "a view has bound 9", func() { (&View{Bound: 9, Live: live}).check() })
	}
	slots := epoch.NewSlots()
	r := NewReclaimer(Config[*item, int]{Slots: slots, Prune: func(*item, *View, *Visit[int]) {}})
	defer r.Close()
	slots.Begin(slots.Acquire())
	slots.Next()
	requireViolation(t, "the newest is", func() { r.checkInstalled(&View{Bound: 2}) })
	requireViolation(t, "I6", func() { r.install(2, nil, true) })
	slots.Announce()
	r.view.Store(&View{Bound: 2})
	requireViolation(t, "I1", func() { r.checkInstalled(&View{Bound: 2}) })
}

func TestInvariantOfMarks(t *testing.T) {
	var m Mark
	requireViolation(t, "comes off", func() { m.unset(markQueued) })
	m.set(markTombstone)
	requireViolation(t, "comes off", func() { m.unset(markQueued) })
	m.unset(markTombstone)
	m.bits.Store(8)
	requireViolation(t, "a mark is", func() { m.unset(0) })
}

func TestInvariantOfQueue(t *testing.T) {
	r := NewReclaimer(Config[*item, int]{Slots: epoch.NewSlots(), Prune: func(*item, *View, *Visit[int]) {}})
	defer r.Close()
	requireViolation(t, "were dequeued", r.checkDequeued)
}
