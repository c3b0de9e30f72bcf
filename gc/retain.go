package gc

import (
	"sort"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// A retention keeps the bound of views from passing the clock of a given time ago, so that no
// version that was the newest since then is dropped. It notes the clock from time to time, and by
// these notes tells the newest epoch of a time. An item with versions above the bound is parked
// until the bound has passed them, and is not visited at each tick.
//
// All of it is guarded by Reclaimer.refreshing, except for the atomic fields.
type retention struct {
	keep time.Duration // 0: nothing is retained
	// notes are in the order of time, and of clocks; the clock of the first is the highest bound.
	// No note is taken while the clock stands still. Of three notes in a row the last is at least
	// keep/noteParts younger than the first.
	notes []note
	began time.Duration // when the lot into which items go now was begun
	// Other goroutines read these two. lots is how many lots were begun. next is the epoch that the
	// bound will have a part of the time later, 0 if it has passed all notes then.
	lots, next atomic.Uint64
	// since is View.Since of the next views, and divided the time at which it moved last.
	since   atomic.Uint64
	divided time.Duration
}

// A note is the clock at a time.
type note struct {
	at    time.Duration
	clock epoch.Epoch
}

// noteParts bounds the notes: in the time that is kept there are at most about twice as many.
// parkParts is how many times retained items are visited in that time, and lotParts how many lots
// it has. So something is kept for up to a parkParts-th and a lotParts-th of the time longer.
const (
	noteParts = 4096
	lotParts  = 64
	parkParts = 8
)

// begin is called once, before the first view is made.
func (h *retention) begin(keep time.Duration, slots *epoch.Slots) {
	if h.keep = keep; keep > 0 {
		h.notes = []note{{0, slots.Now()}}
		slots.Keep(h.notes[0].clock)
		h.since.Store(uint64(h.notes[0].clock))
	}
}

// advance lets the bound pass the newest epochs of more than h.keep ago. now tells the time.
func (h *retention) advance(now func() time.Duration, slots *epoch.Slots) {
	if h.keep == 0 {
		return
	}
	clock := slots.Now() // before the time: so it was that, or more, at the time
	h.note(now(), clock, slots)
}

func (h *retention) note(now time.Duration, clock epoch.Epoch, slots *epoch.Slots) {
	if n := len(h.notes); clock > h.notes[n-1].clock {
		if n > 1 && now-h.notes[n-2].at < h.keep/noteParts {
			h.notes = h.notes[:n-1]
		}
		h.notes = append(h.notes, note{now, clock})
	}
	if now-h.began >= h.keep/lotParts {
		h.began = now
		h.lots.Add(1)
	}
	if first := h.last(now - h.keep); first > 0 {
		h.notes = h.notes[:copy(h.notes, h.notes[first:])]
	}
	slots.Keep(h.notes[0].clock)
	next := epoch.Epoch(0)
	if i := max(h.last(now-h.keep+h.keep/parkParts), 1); i < len(h.notes) {
		next = h.notes[i].clock
	}
	h.next.Store(uint64(next))
}

// divide moves since on to the clock, parkParts times in the time that is retained.
func (h *retention) divide(now time.Duration, slots *epoch.Slots) {
	if h.keep > 0 && now-h.divided >= h.keep/parkParts {
		h.divided = now
		h.since.Store(uint64(slots.Now()))
	}
}

// last returns the index of the last note that was taken at a time or before, or -1.
func (h *retention) last(at time.Duration) int {
	return sort.Search(len(h.notes), func(i int) bool { return h.notes[i].at > at }) - 1
}

// TimesOf returns for each epoch, all of which have come, a time at which it was over, or a little
// after: by at most the time between two rounds, or keep/4096 if that is longer. The time is zero
// if it is longer ago than the retained time, or after the reclaimer was closed. epochs are in
// their order, the newest first. TimesOf waits for a refresh under way, and lets refreshes in again
// after every 256 epochs.
func (r *Reclaimer) TimesOf(epochs []epoch.Epoch) []time.Time {
	times := make([]time.Time, len(epochs))
	for at := 0; at < len(epochs); at += timesAtOnce {
		to := min(at+timesAtOnce, len(epochs))
		r.timesOf(epochs[at:to], times[at:to])
		// A note taken meanwhile must not make an older epoch end after a newer one.
		for i := max(at, 1); i < to; i++ {
			if last := times[i-1]; !last.IsZero() && times[i].After(last) {
				times[i] = last
			}
		}
		hooks.At(hooks.TimesStep)
	}
	return times
}

// timesAtOnce is how many epochs TimesOf looks up while refreshes wait.
const timesAtOnce = 256

func (r *Reclaimer) timesOf(epochs []epoch.Epoch, times []time.Time) {
	r.refreshing.Lock()
	defer r.refreshing.Unlock()
	notes := r.history.notes               // none if nothing is retained
	ended := time.Duration(r.ended.Load()) // notes are taken seldom since then, if it is not 0
	for at, e := range epochs {
		i := sort.Search(len(notes), func(i int) bool { return notes[i].clock >= e })
		switch {
		case len(notes) == 0 || i == 0:
		case i == len(notes) && !r.Closed():
			times[at] = time.Now()
		case i < len(notes) && (ended == 0 || notes[i].at <= ended):
			times[at] = r.born.Add(notes[i].at)
		}
	}
}

// A lot has the items that were parked in the same part of the time, and stay parked until the
// bound has reached an epoch. The zero lot is none.
type lot struct {
	until  epoch.Epoch
	number uint64
}

// lot returns the lot into which items are parked now; the zero lot if nothing is retained.
func (h *retention) lot(slots *epoch.Slots) lot {
	if h.keep == 0 {
		return lot{}
	}
	until := epoch.Epoch(h.next.Load())
	if until == 0 { // the bound is to pass all that there is
		until = slots.Now()
	}
	return lot{until, h.lots.Load()}
}

// A parked list has the items of a lot.
type parked struct {
	lot
	items []Item
}

// park parks items. s.mu is held.
func (s *stock) park(items []Item, at lot) {
	if len(items) == 0 {
		return
	}
	if n := len(s.parked); n == 0 || s.parked[n-1].number < at.number {
		s.parked = append(s.parked, parked{lot: at})
	}
	last := &s.parked[len(s.parked)-1]
	last.until = max(last.until, at.until)
	last.items = append(last.items, items...)
	s.aside.Add(int64(len(items)))
}

// unpark adds the items parked until reached, or before, to those visited now. s.mu is held.
func (s *stock) unpark(reached epoch.Epoch) {
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
