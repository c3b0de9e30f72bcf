package gc

// Resting reports whether there is no ticker goroutine.
func (r *Reclaimer[E, W]) Resting() bool { return !r.running.Load() }

// Strand queues an item and tells nobody.
func (r *Reclaimer[E, W]) Strand(item E) { r.queue.put(item) }

// MinVisits is how many items a tick visits beside writers that do not rest.
const MinVisits = minVisits

// A Shelf is a stock of which only the shelves are used.
type Shelf struct{ s stock[int, uint64] }

// Put has something wait for an epoch.
func (s *Shelf) Put(epoch, what uint64) {
	s.s.put(&Found[int, uint64]{Waits: []Wait[uint64]{{epoch, what}}})
}

// Due returns what waits for epochs that are not among old any more.
func (s *Shelf) Due(old []uint64) (what []uint64) {
	for _, shelf := range s.s.due(old) {
		what = append(what, shelf...)
	}
	return what
}

// Waiting returns how much waits.
func (s *Shelf) Waiting() int { return int(s.s.waits.Load()) }
