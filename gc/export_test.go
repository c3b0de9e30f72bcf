package gc

import (
	"math"

	"github.com/mvccmap/mvccmap/epoch"
)

// Resting reports whether there is no ticker goroutine.
func (r *Reclaimer[E, W]) Resting() bool { return !r.running.Load() }

// Strand queues an item and tells nobody.
func (r *Reclaimer[E, W]) Strand(item E) { r.queue.put(item) }

// Queued returns how many items are in the queue.
func (r *Reclaimer[E, W]) Queued() int { return r.queue.size() }

// MinVisits is how many items a tick visits beside writers that do not rest.
const MinVisits = minVisits

// A Shelf is a stock of which only the shelves are used.
type Shelf struct{ s stock[int, uint64] }

// Put has something wait for an epoch.
func (s *Shelf) Put(epoch, what uint64) {
	s.s.put(&Found[int, uint64]{Waits: []Wait[uint64]{{Epoch: epoch, What: what}}})
}

// Due returns what waits for epochs that are not among old any more.
func (s *Shelf) Due(old []uint64) (what []uint64) {
	return s.DueSome(old, math.MaxInt)
}

// DueSome returns up to limit of it.
func (s *Shelf) DueSome(old []uint64, limit int) (what []uint64) {
	view := &View{View: epoch.ViewOf(math.MaxUint64, math.MaxUint64, nil, old)}
	for _, shelf := range s.s.due(view, limit) {
		what = append(what, shelf...)
	}
	return what
}

// PutForWriters has something wait for those who may write and read at or below epoch;
// DueForWriters returns what waits for nobody any more when writers read at lowest.
func (s *Shelf) PutForWriters(epoch, what uint64) {
	s.s.put(&Found[int, uint64]{Waits: []Wait[uint64]{{Epoch: epoch, Writers: true, What: what}}})
}

func (s *Shelf) DueForWriters(lowest uint64) (what []uint64) {
	view := &View{View: epoch.ViewOf(math.MaxUint64, lowest, nil, nil)}
	for _, shelf := range s.s.due(view, math.MaxInt) {
		what = append(what, shelf...)
	}
	return what
}

// Waiting returns how much waits.
func (s *Shelf) Waiting() int { return int(s.s.waits.Load()) }
