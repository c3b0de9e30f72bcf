package mvcc

import (
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v4"
)

// counters counts what happens to one map off the hot path. What happens on it is
// derived: commits from the clock, ended transactions from the generations of the slots.
type counters struct {
	*commonCounters
	name      string                           // of the map in its database
	conflicts [ConflictWrite + 1]atomic.Uint64 // by kind
	// keys changes where a key is inserted or deleted. It is striped.
	keys *xsync.Counter
}

// commonCounters counts what happens to all maps of a database.
type commonCounters struct {
	_           [128]byte
	wasted      atomic.Uint64 // epochs drawn that are no transaction's commit epoch
	helped      atomic.Uint64
	pushed      atomic.Uint64
	revoked     atomic.Uint64
	rivals      atomic.Uint64
	reinstalled atomic.Uint64
	retries     atomic.Uint64
	expired     atomic.Uint64 // records
	// tombstones is how many keys of which only a tombstone is left are set aside.
	tombstones atomic.Int64
	_          [128]byte
}

// slotBytes is what a slot takes with the state that owns it, and with what the runtime
// notes to notice that the state has become unreachable.
const slotBytes = 200

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
