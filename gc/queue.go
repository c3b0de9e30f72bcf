package gc

import (
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v4"
)

// A queue hands items over from committers to the background work, in no strict order. It takes
// memory as it fills: a small ring first, and a larger ring whenever all rings are full. A ring is
// dropped when it has not been needed for a while. Nothing here waits.
type queue struct {
	rings [3]atomic.Pointer[ring]
	sizes [3]int
	turn  atomic.Uint32 // counts calls of take
	// spilled has the items beyond the rings. It takes anything.
	spilled  atomic.Pointer[spill]
	overflow atomic.Int64 // how many items there are in spilled, roughly

	// most is the largest number of items that drain has found lately. calm is how often in a row
	// drain has found less than half of most. Only drain and clear use them.
	most, calm int
}

// A ring is one of the bounded queues.
type ring struct {
	*xsync.MPMCQueue[Item]
	n atomic.Int64 // counted up after an enqueue, and down after a dequeue
}

// A spill is a list of items, in a stack.
type spill struct {
	items []Item
	next  *spill
}

// The sizes of the rings (the last ring is larger if need be), and the number of calm drains after
// which rings are dropped.
const (
	smallRing = 16
	largeRing = 512
	hugeRing  = 4096
	calmDrain = 16
)

// init makes room for n items before anything is spilled.
func (q *queue) init(n int) { q.sizes = [...]int{smallRing, largeRing, max(n, hugeRing)} }

// put queues the item.
func (q *queue) put(item Item) {
	for i := range q.rings {
		r := q.rings[i].Load()
		for r == nil {
			q.rings[i].CompareAndSwap(nil, &ring{MPMCQueue: xsync.NewMPMCQueue[Item](q.sizes[i])})
			r = q.rings[i].Load()
		}
		if r.n.Load() >= int64(q.sizes[i]) || !r.enqueue(item) {
			continue
		}
		r.n.Add(1)
		// Must follow the count: see drop.
		if q.rings[i].Load() != r {
			q.empty(r)
		}
		return
	}
	q.spill([]Item{item})
}

// enqueue enqueues the item if there is room, and reports whether it did. If another goroutine came
// first, the ring refuses the item even with room: so enqueue tries a few times.
func (r *ring) enqueue(item Item) bool {
	for range ringTries {
		if r.TryEnqueue(item) {
			return true
		}
	}
	return false
}

// dequeue takes an item out, if there is one.
func (r *ring) dequeue() (item Item, ok bool) {
	for range ringTries {
		if item, ok = r.TryDequeue(); ok {
			r.n.Add(-1)
			return item, true
		}
	}
	return item, false
}

const ringTries = 4

// spill puts items where there is always room.
func (q *queue) spill(items []Item) {
	s := &spill{items: items}
	for {
		s.next = q.spilled.Load()
		if q.spilled.CompareAndSwap(s.next, s) {
			q.overflow.Add(int64(len(items)))
			return
		}
	}
}

// unspill takes some of the spilled items, if there are any.
func (q *queue) unspill() []Item {
	for {
		s := q.spilled.Load()
		if s == nil {
			return nil
		}
		if q.spilled.CompareAndSwap(s, s.next) {
			q.overflow.Add(-int64(len(s.items)))
			return s.items
		}
	}
}

// take takes an item out of the rings: out of the largest, in which items wait longest, and every
// 16th time out of the smallest. It may miss an item that is just being put in.
func (q *queue) take() (item Item, ok bool) {
	small := q.turn.Add(1)%smallRing == 0
	for i := range q.rings {
		if !small {
			i = len(q.rings) - 1 - i
		}
		if r := q.rings[i].Load(); r != nil && r.n.Load() > 0 {
			if item, ok = r.dequeue(); ok {
				return item, true
			}
		}
	}
	return item, false
}

// drain appends everything there is to items, and lets go of memory that the queue
// has not needed for a while. Calls must not overlap.
func (q *queue) drain(items []Item) []Item {
	for more := q.unspill(); more != nil; more = q.unspill() {
		items = append(items, more...)
	}
	n := 0
	for i := q.size(); n < i; n++ {
		item, ok := q.take()
		if !ok {
			break
		}
		items = append(items, item)
	}
	switch {
	case n*2 > q.most:
		q.most, q.calm = max(n, q.most), 0
	case q.calm < calmDrain:
		q.calm++
	default:
		q.most, q.calm = n, 0
		q.drop(2 * n)
	}
	return items
}

// clear lets go of all memory, if nothing is queued. Calls must not overlap with drain.
func (q *queue) clear() {
	if q.idle() {
		q.most, q.calm = 0, 0
		q.drop(0)
	}
}

// drop drops the rings that are not needed for n items. A committer that has put an item into such
// a ring has either counted it before the ring was dropped, and drop finds it; or finds that the
// ring was dropped, and empties the ring itself.
func (q *queue) drop(n int) {
	room := 0
	for i := range q.rings {
		if room >= n {
			if r := q.rings[i].Swap(nil); r != nil {
				q.empty(r)
			}
		}
		room += q.sizes[i]
	}
}

// empty moves the items of a dropped ring to the spill. If it does not find a counted item for
// long, another goroutine has taken the item out and has not yet counted this.
func (q *queue) empty(r *ring) {
	for misses := 0; r.n.Load() > 0 && misses < emptyMisses; {
		if item, ok := r.dequeue(); ok {
			q.spill([]Item{item})
		} else {
			misses++
		}
	}
}

const emptyMisses = 64

// idle reports whether nothing is queued.
func (q *queue) idle() bool { return q.spilled.Load() == nil && q.size() == 0 }

// size returns how many items there are.
func (q *queue) size() int {
	n := max(q.overflow.Load(), 0)
	for i := range q.rings {
		if r := q.rings[i].Load(); r != nil {
			n += max(r.n.Load(), 0)
		}
	}
	return int(n)
}
