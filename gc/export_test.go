package gc

import (
	"math"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
)

// Resting reports whether there is no ticker goroutine.
func (r *Reclaimer) Resting() bool { return !r.running.Load() }

// Strand queues an item and tells nobody.
func (r *Reclaimer) Strand(item Item) { r.queue.put(item) }

// MinVisits is how many items a tick visits beside writers that do not rest.
const MinVisits = minVisits

// How old a view may get.
const (
	AgeLimit    = ageLimit
	AgeFactor   = ageFactor
	RetainedAge = retainedAge
)

// itemOf returns an item that has a thing of its own.
func itemOf[T any](thing T) Item { return Item{Thing: unsafe.Pointer(&thing)} }

// A Shelf is a stock of which only the shelves are used.
type Shelf struct {
	s stock
}

// Put has something wait for an epoch.
func (s *Shelf) Put(at, what epoch.Epoch) {
	s.s.put(&Found{Waits: []Wait{{Epoch: at, What: itemOf(what)}}}, lot{})
}

// Due returns up to limit of the items that wait for epochs which are not among old any more.
func (s *Shelf) Due(limit int, old ...epoch.Epoch) []epoch.Epoch {
	return s.takeDown(epoch.ViewOf(math.MaxUint64, math.MaxUint64, nil, old), limit)
}

func (s *Shelf) takeDown(v epoch.View, limit int) (what []epoch.Epoch) {
	for _, shelf := range s.s.due(&View{View: v}, limit) {
		for _, i := range shelf {
			what = append(what, *(*epoch.Epoch)(i.Thing))
		}
	}
	return what
}

// PutForWriters has something wait for those that may write and read at or below epoch;
// DueForWriters returns the items that wait for nobody any more when writers read at lowest.
func (s *Shelf) PutForWriters(at, what epoch.Epoch) {
	s.s.put(&Found{Waits: []Wait{{Epoch: at, Writers: true, What: itemOf(what)}}}, lot{})
}

func (s *Shelf) DueForWriters(lowest epoch.Epoch) []epoch.Epoch {
	return s.takeDown(epoch.ViewOf(math.MaxUint64, lowest, nil, nil), math.MaxInt)
}

// Waiting returns how much waits.
func (s *Shelf) Waiting() int { return int(s.s.waits.Load()) }

// NoteParts is how many times in the time that is retained the clock is noted, at least.
const NoteParts = noteParts

// Notes returns how many notes of the clock there are.
func (r *Reclaimer) Notes() int {
	r.refreshing.Lock()
	defer r.refreshing.Unlock()
	return len(r.history.notes)
}
