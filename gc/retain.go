package gc

import (
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
)

// A retention keeps the bound of views from passing what the clock was a given time ago, so
// that nothing is dropped which was the newest since. It notes what the clock is now and
// then. What has versions above the bound is parked until the bound has passed them, and
// not visited at each tick.
//
// All of it is guarded by Reclaimer.refreshing.
type retention struct {
	keep  time.Duration // 0: nothing is retained
	notes []note        // in the order of time; the first is what the bound may be
	// What others read: how many notes were taken, and where the bound will be, if it moves, a
	// part of the time later, or 0.
	taken, next atomic.Uint64
}

// A note says what the clock was at a time.
type note struct {
	at    time.Duration
	clock epoch.Epoch
}

// retainParts is how many notes there are in the time that is kept, and parkParts how many
// times what is retained is visited in that time. So something is kept for up to a part of
// either longer.
const (
	retainParts = 64
	parkParts   = 8
)

// begin is called once, before the first view is made.
func (h *retention) begin(keep time.Duration, slots *epoch.Slots) {
	if h.keep = keep; keep > 0 {
		h.notes = []note{{0, slots.Now()}}
		slots.Keep(h.notes[0].clock)
	}
}

// advance lets the bound pass what was the newest more than h.keep ago. now tells the time.
func (h *retention) advance(now func() time.Duration, slots *epoch.Slots) {
	if h.keep == 0 {
		return
	}
	clock := slots.Now() // before the time: so it was that, or more, at the time
	h.note(now(), clock, slots)
}

func (h *retention) note(now time.Duration, clock epoch.Epoch, slots *epoch.Slots) {
	if now-h.notes[len(h.notes)-1].at >= h.keep/retainParts {
		h.notes = append(h.notes, note{now, clock})
		h.taken.Add(1)
	}
	first := 0
	for first+1 < len(h.notes) && now-h.notes[first+1].at >= h.keep {
		first++
	}
	h.notes = h.notes[:copy(h.notes, h.notes[first:])]
	slots.Keep(h.notes[0].clock)
	next := epoch.Epoch(0)
	for i := retainParts / parkParts; i < len(h.notes) && next == 0; i++ {
		if h.notes[i].clock > h.notes[0].clock {
			next = h.notes[i].clock
		}
	}
	h.next.Store(uint64(next))
}

// A lot is where items are parked: until the bound has reached an epoch, with those that
// were parked since the same note was taken. The zero lot is none.
type lot struct {
	until epoch.Epoch
	note  uint64
}

// lot returns where items are parked now, if they are: until the bound has moved on.
func (h *retention) lot(slots *epoch.Slots) lot {
	if h.keep == 0 {
		return lot{}
	}
	until := epoch.Epoch(h.next.Load())
	if until == 0 { // the bound is to pass all that there is
		until = slots.Now()
	}
	return lot{until, h.taken.Load()}
}

// A parked list has the items of a lot.
type parked[E any] struct {
	lot
	items []E
}

// park parks items. s.mu is held.
func (s *stock[E, W]) park(items []E, at lot) {
	if len(items) == 0 {
		return
	}
	if n := len(s.parked); n == 0 || s.parked[n-1].note < at.note {
		s.parked = append(s.parked, parked[E]{lot: at})
	}
	last := &s.parked[len(s.parked)-1]
	last.until = max(last.until, at.until)
	last.items = append(last.items, items...)
	s.aside.Add(int64(len(items)))
}

// unpark adds what was parked until reached, or before, to what is visited now. s.mu is held.
func (s *stock[E, W]) unpark(reached epoch.Epoch) {
	kept := s.parked[:0]
	for _, p := range s.parked {
		if p.until > reached {
			kept = append(kept, p)
			continue
		}
		s.now = append(s.now, p.items...)
		s.aside.Add(-int64(len(p.items)))
	}
	clear(s.parked[len(kept):])
	s.parked = kept
}
