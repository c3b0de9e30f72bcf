//go:build mvcccheck

package epoch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// promotion is a transaction that has been found live twice, and its end.
type promotion struct {
	*epoch.Slots
	slot  *epoch.Slot
	at    epoch.Epoch // its read epoch
	next  epoch.Epoch // that of the next transaction in its slot, if there is one
	ended int         // how many views were complete when it ended, -1 while it is live
	views []*epoch.View
}

func newPromotion() *promotion {
	p := &promotion{Slots: epoch.NewSlots(), ended: -1}
	p.slot, p.at = begin(p.Slots, epoch.MayWrite)
	p.Next()
	rounds(p.Slots, 2)
	p.Next()
	return p
}

// runOwner is the owner: it ends the transaction, and begins another one if the slot is
// still its own.
func (p *promotion) runOwner(func(string)) {
	gen := p.slot.Gen()
	p.ended = len(p.views)
	if !p.slot.End(gen) {
		panic("not ended")
	}
	if p.slot.Keep(gen) {
		p.Next()
		p.next = p.Begin(p.slot, epoch.MayWrite)
	}
}

func (p *promotion) round(func(string)) { p.Round(time.Hour, epoch.Limits{}) }

func (p *promotion) refresh(func(string)) {
	v := new(epoch.View)
	p.Look(v, p.Announce(), nil)
	p.views = append(p.views, v)
}

// check: every view that was made while a transaction was live, or before it began,
// knows of it or has a bound at or below it; and slots are neither lost nor shared.
func (p *promotion) check(t *testing.T, schedule string) {
	covers := func(v *epoch.View, at epoch.Epoch) bool {
		e, _ := v.Below(at + 1)
		return (at >= v.Bound || e == at) && at >= v.Writers
	}
	p.Next()
	p.refresh(nil)
	for i, v := range p.views {
		if p.ended < 0 || i < p.ended {
			require.True(t, covers(v, p.at), "the first transaction, at %d, view %v: %s", p.at, v, schedule)
		}
		if p.next != 0 {
			require.True(t, covers(v, p.next), "the next one, at %d, view %v: %s", p.next, v, schedule)
		}
	}
	rounds(p.Slots, 1)
	want := 1
	if p.ended >= 0 && p.next == 0 {
		want = 0
	}
	require.Equal(t, want, p.Owned(), schedule)
	if p.next != 0 {
		require.True(t, p.slot.End(p.slot.Gen()), schedule)
	}
}

// A transaction is promoted while its owner is still in Begin, and may have to publish
// another epoch than the one that is promoted.
func TestPromoteAgainstBegin(t *testing.T) {
	if stage.Race || testing.Short() {
		t.Skip("one thread moves at a time")
	}
	runs := exploreSteps(t, 3, func() ([]thread, func(string)) {
		p := &promotion{Slots: epoch.NewSlots(), ended: -1}
		p.slot = p.Acquire()
		begin := func(func(string)) {
			p.at = p.Begin(p.slot, epoch.MayWrite)
		}
		threads := []thread{
			{"begin", begin},
			{"rounds", func(func(string)) {
				p.Next()
				rounds(p.Slots, 2)
				p.Next()
				p.Round(time.Hour, epoch.Limits{})
			}},
			{"look", p.refresh},
		}
		return threads, func(schedule string) {
			if p.at != 0 {
				p.check(t, schedule)
				return
			}
			kept := p.slot.Keep(p.slot.Gen() - 1)
			rounds(p.Slots, 1)
			owned := 0
			if kept {
				owned = 1
			}
			require.Equal(t, owned, p.Owned(), schedule)
			require.Empty(t, liveEpochs(p.Slots, p.Announce()), schedule)
		}
	})
	require.Greater(t, runs, 5000)
}

// A transaction is promoted while its owner ends it and begins another one, and while
// views are made, in every interleaving of the accesses to shared words.
func TestPromoteAgainstEndAndLook(t *testing.T) {
	run := func(name string, threads func(p *promotion) []thread, least int) {
		t.Run(name, func(t *testing.T) {
			if stage.Race || testing.Short() {
				t.Skip("one thread moves at a time")
			}
			runs := exploreSteps(t, 3, func() ([]thread, func(string)) {
				p := newPromotion()
				return threads(p), func(schedule string) { p.check(t, schedule) }
			})
			require.Greater(t, runs, least)
		})
	}
	run("end", func(p *promotion) []thread {
		return []thread{{"round", p.round}, {"owner", p.runOwner}}
	}, 500)
	run("look", func(p *promotion) []thread {
		return []thread{{"round", p.round}, {"look", p.refresh}}
	}, 200)
	run("both", func(p *promotion) []thread {
		return []thread{{"round", p.round}, {"owner", p.runOwner}, {"look", p.refresh}}
	}, 5000)
}
