package mvcc

import (
	"sync/atomic"
	"unsafe"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/epoch"
)

// counters counts what happens off the hot path. What happens on it is derived:
// commits from the clock, ended transactions from the generations of the slots.
type counters struct {
	_           [128]byte
	wasted      atomic.Uint64 // epochs drawn that are no transaction's commit epoch
	helped      atomic.Uint64
	pushed      atomic.Uint64
	revoked     atomic.Uint64
	rivals      atomic.Uint64
	reinstalled atomic.Uint64
	conflicts   [ConflictWrite + 1]atomic.Uint64 // by kind
	retries     atomic.Uint64
	leaked      atomic.Uint64
	pruned      atomic.Uint64
	// drift is by how much commits less pruned versions was more than the number
	// of versions there were, when that was known last; tally is what was counted
	// then. tally is written by passes of the background work, and compared only
	// to find out whether there was anything going on.
	drift atomic.Int64
	tally [4]atomic.Uint64
	_     [128]byte

	// keys and entries change where a key is inserted or deleted. They are
	// striped.
	keys, entries *xsync.Counter
}

func newCounters() *counters {
	return &counters{keys: xsync.NewCounter(), entries: xsync.NewCounter()}
}

func (c *counters) conflict(kind ConflictKind) { c.conflicts[kind].Add(1) }

// caughtUp is called when no key waits to be pruned: then every entry has one
// version, but for those old ones that are kept for a read epoch. So it is known
// by how much counting the versions that came and went is wrong; what two pruners
// of one key both counted does not add up over the years. It reports whether nothing
// has happened since the last call: then what it found is exact.
func (c core[K, V]) caughtUp(kept int) bool {
	n := c.counters
	wasted := n.wasted.Load() // before the clock: an epoch is wasted after it was drawn
	_, _, extra := c.slots.Census()
	now := [...]uint64{c.slots.Now() - epoch.First - wasted + extra, n.pruned.Load(), uint64(n.entries.Value()), uint64(kept)}
	n.drift.Store(int64(now[0] - now[1] - now[2] - now[3]))
	same := true
	for i := range now {
		same = n.tally[i].Swap(now[i]) == now[i] && same
	}
	return same
}

// What a key costs in the index beside its entry, roughly: a node with the key and
// a pointer, and its share of a bucket of 64 bytes with five places, three of four
// of which are taken.
const indexShare = 64 * 4 / (5 * 3)

// slotBytes is what a slot takes.
const slotBytes = 128

// sizesOf returns about what an entry takes, its share of the index included, and what a
// version does.
func sizesOf[K comparable, V any]() (perEntry, perVersion uint64) {
	e, v := new(entry[K, V]), new(version[V])
	node := allocated(unsafe.Sizeof(e.key) + unsafe.Sizeof(e))
	return indexShare + node + allocated(unsafe.Sizeof(*e)), allocated(unsafe.Sizeof(*v))
}

// allocated returns about what the allocator takes for an object of size n: the
// size classes of Go are 8, 16, 24, 32, then 16 apart up to 128, and above that
// about an eighth apart.
func allocated(n uintptr) uint64 {
	step := uintptr(8)
	switch {
	case n > 128:
		for step = 16; step*8 < n; step *= 2 {
		}
	case n > 32:
		step = 16
	}
	return uint64((n + step - 1) / step * step)
}
