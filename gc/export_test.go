package gc

import (
	"math"

	"github.com/mvccmap/mvccmap/epoch"
)

// Resting reports whether there is no ticker goroutine.
func (r *Reclaimer[E, W]) Resting() bool { return !r.running.Load() }

// Strand queues an item and tells nobody.
func (r *Reclaimer[E, W]) Strand(item E) { r.queue.put(item) }

// MinVisits is how many items a tick visits beside writers that do not rest.
const MinVisits = minVisits

// How old a view may get.
const (
	AgeLimit    = ageLimit
	AgeFactor   = ageFactor
	RetainedAge = retainedAge
)

// A Shelf is a stock of which only the shelves are used.
type Shelf struct {
	s stock[int, epoch.Epoch]
}

// Put has something wait for an epoch.
func (s *Shelf) Put(at, what epoch.Epoch) {
	s.s.put(&Found[int, epoch.Epoch]{Waits: []Wait[epoch.Epoch]{{Epoch: at, What: what}}}, lot{})
}

// Due returns what waits for epochs that are not among old any more.
func (s *Shelf) Due(old []epoch.Epoch) (what []epoch.Epoch) {
	return s.DueSome(old, math.MaxInt)
}

// DueSome returns up to limit of it.
func (s *Shelf) DueSome(old []epoch.Epoch, limit int) (what []epoch.Epoch) {
	view := &View{View: epoch.ViewOf(math.MaxUint64, math.MaxUint64, nil, old)}
	for _, shelf := range s.s.due(view, limit) {
		what = append(what, shelf...)
	}
	return what
}

// PutForWriters has something wait for those that may write and read at or below epoch;
// DueForWriters returns what waits for nobody any more when writers read at lowest.
func (s *Shelf) PutForWriters(at, what epoch.Epoch) {
	s.s.put(&Found[int, epoch.Epoch]{Waits: []Wait[epoch.Epoch]{{Epoch: at, Writers: true,
		What: what}}}, lot{})
}

func (s *Shelf) DueForWriters(lowest epoch.Epoch) (what []epoch.Epoch) {
	view := &View{View: epoch.ViewOf(math.MaxUint64, lowest, nil, nil)}
	for _, shelf := range s.s.due(view, math.MaxInt) {
		what = append(what, shelf...)
	}
	return what
}

// Waiting returns how much waits.
func (s *Shelf) Waiting() int { return int(s.s.waits.Load()) }

// NoteParts is how many times in the time that is retained the clock is noted, at least.
const NoteParts = noteParts

// Notes returns how many notes of the clock there are.
func (r *Reclaimer[E, W]) Notes() int {
	r.refreshing.Lock()
	defer r.refreshing.Unlock()
	return len(r.history.notes)
}
