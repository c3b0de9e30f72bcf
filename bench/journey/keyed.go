package journey

import (
	"sync"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/goid"
)

// In these trackers an entry belongs to a goroutine. A goroutine with several transactions has
// their lowest epoch there until all have ended: right, but coarse. In the post an entry belonged
// to a thread, with one transaction.

// reading is the read of a goroutine: an epoch and, in the lowest bits, how many
// transactions are open, at the epoch or above.
type reading uint64

const openBits = 16

func (r reading) open() bool { return r&(1<<openBits-1) > 0 }

// begun returns r with one transaction more; r-1 is with one less.
func (r reading) begun(e epoch.Epoch) reading {
	if !r.open() {
		r = reading(e << openBits)
	}
	return r + 1
}

func (r reading) lowest(than epoch.Epoch) epoch.Epoch {
	if !r.open() {
		return than
	}
	return min(than, epoch.Epoch(r>>openBits))
}

// keyedMap keeps them in a concurrent map, which makes an entry anew at each change.
type keyedMap struct{ of *xsync.Map[uint64, reading] }

func (t keyedMap) enter(e epoch.Epoch) Handle {
	id := uint64(goid.Get())
	t.of.Compute(id, func(r reading, _ bool) (reading, xsync.ComputeOp) {
		return r.begun(e), xsync.UpdateOp
	})
	return Handle{Epoch: e, id: id}
}

func (t keyedMap) leave(h Handle) {
	t.of.Compute(h.id, func(r reading, _ bool) (reading, xsync.ComputeOp) {
		return r - 1, xsync.UpdateOp
	})
}

func (t keyedMap) lowest() epoch.Epoch {
	low := none
	t.of.Range(func(_ uint64, r reading) bool {
		low = r.lowest(low)
		return true
	})
	return low
}

// keyedLocked keeps them in a map under a mutex, which allocates nothing.
type keyedLocked struct {
	mu sync.Mutex
	of map[uint64]reading
}

func (t *keyedLocked) enter(e epoch.Epoch) Handle {
	id := uint64(goid.Get())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[id] = t.of[id].begun(e)
	return Handle{Epoch: e, id: id}
}

func (t *keyedLocked) leave(h Handle) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[h.id]--
}

func (t *keyedLocked) lowest() epoch.Epoch {
	t.mu.Lock()
	defer t.mu.Unlock()
	low := none
	for _, r := range t.of {
		low = r.lowest(low)
	}
	return low
}

// keyedWords has a word for each goroutine, which is found in a concurrent map and changed in
// place.
type keyedWords struct {
	of *xsync.Map[uint64, *paddedWord]
}

type paddedWord struct {
	atomic.Uint64
	_ [120]byte
}

func (t keyedWords) enter(e epoch.Epoch) Handle {
	id := uint64(goid.Get())
	word, ok := t.of.Load(id)
	if !ok {
		word, _ = t.of.LoadOrStore(id, new(paddedWord))
	}
	for {
		old := word.Load() // another goroutine may end a transaction of this one
		if word.CompareAndSwap(old, uint64(reading(old).begun(e))) {
			return Handle{Epoch: e, word: &word.Uint64}
		}
	}
}

func (t keyedWords) leave(h Handle) { h.word.Add(^uint64(0)) }

func (t keyedWords) lowest() epoch.Epoch {
	low := none
	t.of.Range(func(_ uint64, word *paddedWord) bool {
		low = reading(word.Load()).lowest(low)
		return true
	})
	return low
}
