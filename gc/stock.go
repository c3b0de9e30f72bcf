package gc

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/invariant"
)

// A stock is the pending work of the background: items to visit, each once, and versions that wait
// for old read epochs.
//
// An item is visited at the next tick, and then again as long as it has versions
// above the bound; or in two ticks if versions of it are kept for a read epoch that
// is not old. A version kept for an old epoch stands on a shelf of that epoch, the
// newest one that needs it, and becomes due when the epoch has ended; then it is
// dropped, or moves to the shelf of the next older epoch. A version kept for
// transactions that may write stands on a shelf of their lowest epoch. So the stock
// is bounded by the items that have more than one version, and by the old
// versions that are kept for old epochs; and the work done for a version follows the
// read epochs that it outlives, and not the ticks.
type stock struct {
	mu    sync.Mutex // held for a few instructions, or to sort
	now   []Item     // the items of this tick; the rest stays for the next one
	taken int        // now[:taken] has been taken
	next  []Item     // for the next tick
	later []Item     // for the tick after that
	// parked has the lots that wait for the bound, in the order in which that comes, see retention.
	parked []parked

	shelves map[epoch.Epoch][]Item
	epochs  []epoch.Epoch // those that have a shelf, sorted unless stirred says so
	stirred bool
	// seen are the old epochs that the shelves were last compared with. changed says that they must
	// be compared again even if the old epochs are the same.
	seen    []epoch.Epoch
	changed bool
	// writers has the waits for transactions that may write. enough is how many such waits there
	// must be before sift looks for stale ones.
	writers map[epoch.Epoch][]Item
	waiting int // on writers
	enough  int

	items atomic.Int64 // how many items there are in now, next and later
	waits atomic.Int64 // how many there are on the shelves
	aside atomic.Int64 // how many items are parked
}

// batchSize is the most items that are visited together.
const batchSize = 64

// turn makes the items of the next tick those of this tick, and adds the items that drain returns
// and the items parked until reached or before. With all it also adds the items of the tick after
// the next. It returns how many items there are to visit now. s.mu is held.
func (s *stock) turn(drain func([]Item) []Item, all bool, reached epoch.Epoch) int {
	if s.taken > 0 {
		left := copy(s.now, s.now[s.taken:])
		clear(s.now[left:])
		s.now, s.taken = s.now[:left], 0
	}
	s.now = append(s.now, s.next...)
	clear(s.next)
	s.next, s.later = s.later, s.next[:0]
	if all {
		s.now = append(s.now, s.next...)
		clear(s.next)
		s.next = s.next[:0]
	}
	s.unpark(reached)
	s.now = drain(s.now)
	s.now, s.next, s.later = spare(s.now), spare(s.next), spare(s.later)
	s.recount()
	return len(s.now)
}

// clear lets go of the memory of an empty stock and queue.
func (s *stock) clear(q *queue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items.Load() == 0 {
		s.now, s.next, s.later, s.taken = nil, nil, nil, 0
		q.clear()
	}
}

// absorb takes over the items handed over, for the next tick.
func (s *stock) absorb(drain func([]Item) []Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = drain(s.next)
	s.recount()
}

// tryAbsorb takes over up to n of the items of q, unless the lock is held.
func (s *stock) tryAbsorb(q *queue, n int) bool {
	if !s.mu.TryLock() {
		return false
	}
	defer s.mu.Unlock()
	s.next = append(s.next, q.unspill()...)
	for ; n > 0; n-- {
		item, ok := q.take()
		if !ok {
			break
		}
		s.next = append(s.next, item)
	}
	s.recount()
	return true
}

// spare returns list without the memory that it does not need.
func spare[E any](list []E) []E {
	switch {
	case cap(list) <= 1024 || len(list) > cap(list)/8:
		return list
	case len(list) == 0:
		return nil
	}
	return slices.Clone(list)
}

// take moves up to n of the items to be visited now to batch.
func (s *stock) take(batch []Item, n int) []Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.move(batch, n)
}

// tryTake is take for a caller that must not wait for the lock.
func (s *stock) tryTake(batch []Item, n int) []Item {
	if !s.mu.TryLock() {
		return batch
	}
	defer s.mu.Unlock()
	return s.move(batch, n)
}

// move is take. s.mu is held.
func (s *stock) move(batch []Item, n int) []Item {
	n = min(len(s.now)-s.taken, n)
	batch = append(batch, s.now[s.taken:s.taken+n]...)
	clear(s.now[s.taken : s.taken+n])
	s.taken += n
	s.recount()
	return batch
}

// put adds the findings of visits. If at is a lot, put parks there the items to be visited again.
func (s *stock) put(found *Found, at lot) {
	if len(found.Again)+len(found.Later)+len(found.Waits) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.until != 0 {
		s.park(found.Again, at)
	} else {
		s.next = append(s.next, found.Again...)
	}
	s.later = append(s.later, found.Later...)
	s.shelve(found.Waits)
	s.recount()
}

func (s *stock) recount() {
	s.items.Store(int64(len(s.now) - s.taken + len(s.next) + len(s.later)))
}

// shelve puts each of waits on its shelf. s.mu is held.
func (s *stock) shelve(waits []Wait) {
	for _, w := range waits {
		if w.Writers {
			if s.writers == nil {
				s.writers = make(map[epoch.Epoch][]Item)
			}
			s.writers[w.Epoch] = append(s.writers[w.Epoch], w.What)
			s.waiting++
			continue
		}
		shelf, there := s.shelves[w.Epoch]
		if !there {
			if s.shelves == nil {
				s.shelves = make(map[epoch.Epoch][]Item)
			}
			if k := len(s.epochs); k > 0 && s.epochs[k-1] > w.Epoch {
				s.stirred = true
			}
			s.epochs = append(s.epochs, w.Epoch)
			// The epoch may have ended before, unnoticed: its view may be older than the one that
			// was compared last.
			s.changed = true
		}
		s.shelves[w.Epoch] = append(shelf, w.What)
	}
	s.waits.Add(int64(len(waits)))
}

// minSift is the least number of waits for transactions that may write that are sifted.
const minSift = 1024

// sift drops the stale waits for transactions that may write, if there are twice as many as sift
// left the last time. Calls must not overlap.
func (s *stock) sift(stale func(Item) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting < max(s.enough, minSift) {
		return
	}
	shelves := s.writers
	s.writers = nil
	s.mu.Unlock() // it takes long
	dropped := 0
	for e, shelf := range shelves {
		n := len(shelf)
		shelves[e] = spare(slices.DeleteFunc(shelf, func(what Item) bool {
			if !stale(what) {
				return false
			}
			s.waits.Add(-1)
			return true
		}))
		dropped += n - len(shelves[e])
	}
	s.mu.Lock()
	for e, shelf := range s.writers { // put there meanwhile
		shelves[e] = append(shelves[e], shelf...)
	}
	s.writers = shelves
	s.waiting -= dropped
	s.enough = 2 * s.waiting
}

// due takes down the shelves whose epochs are not among the old ones of view, up to limit waits.
// Such a shelf was put up with a view older than view: so its epoch has ended. s.mu is held.
func (s *stock) due(view *View, limit int) (shelves [][]Item) {
	n := 0
	take := func(from map[epoch.Epoch][]Item, e epoch.Epoch) (all bool) {
		shelf := from[e]
		left := max(len(shelf)-(limit-n), 0)
		n += len(shelf) - left
		shelves = append(shelves, shelf[left:])
		if left > 0 {
			from[e] = shelf[:left:left]
			return false
		}
		delete(from, e)
		return true
	}
	defer func() {
		if c := s.waits.Add(-int64(n)); invariant.Enabled && c < 0 {
			invariant.Violated("%d more waits came due than were set aside", -c)
		}
	}()
	for e := range s.writers {
		if e < view.Writers && n < limit {
			take(s.writers, e)
		}
	}
	s.waiting -= n
	s.enough = min(s.enough, 2*s.waiting)
	if len(s.writers) == 0 {
		s.writers = nil
	}
	old := view.Old()
	if !s.changed && slices.Equal(s.seen, old) {
		return shelves
	}
	s.seen, s.changed = old, false
	if s.stirred {
		slices.Sort(s.epochs)
		s.stirred = false
	}
	kept := s.epochs[:0]
	for _, e := range s.epochs {
		for len(old) > 0 && old[0] < e {
			old = old[1:]
		}
		if len(old) > 0 && old[0] == e {
			kept = append(kept, e)
			continue
		}
		if n >= limit || !take(s.shelves, e) {
			kept = append(kept, e)
			s.changed = true
		}
	}
	if s.epochs = kept; len(kept) == 0 {
		s.epochs, s.shelves = nil, nil // neither ever shrinks by itself
	}
	return shelves
}

// add adds items that are to be visited now.
func (s *stock) add(items []Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = append(s.now, items...)
	s.recount()
}
