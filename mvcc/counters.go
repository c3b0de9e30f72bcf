package mvcc

import (
	"sync/atomic"
	"unsafe"

	"github.com/puzpuzpuz/xsync/v4"
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
	// tombstones is how many entries of which only a tombstone is left are set aside.
	tombstones atomic.Int64
	_          [128]byte

	// keys and entries change where a key is inserted or deleted. They are
	// striped.
	keys, entries *xsync.Counter
}

func newCounters() *counters {
	return &counters{keys: xsync.NewCounter(), entries: xsync.NewCounter()}
}

func (c *counters) conflict(kind ConflictKind) { c.conflicts[kind].Add(1) }

// indexBytes returns what the buckets of an index take that has grown to n entries: 64
// bytes each, for five entries, and twice as many when three of four places are taken.
func indexBytes(n int) uint64 {
	buckets := 32
	for buckets*5*3/4 < n {
		buckets *= 2
	}
	return uint64(buckets) * 64
}

// slotBytes is what a slot takes with the state that owns it, and with what the runtime
// notes to notice that the state has become unreachable.
const slotBytes = 200

// sizesOf returns about what an entry takes with its node in the index, and what a
// version does.
func sizesOf[K comparable, V any]() (perEntry, perVersion uint64) {
	e, v := new(entry[K, V]), new(version[V])
	node := allocated(unsafe.Sizeof(e.key) + unsafe.Sizeof(e))
	return node + allocated(unsafe.Sizeof(*e)), allocated(unsafe.Sizeof(*v))
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
