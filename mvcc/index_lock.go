package mvcc

import (
	"runtime"
	stdatomic "sync/atomic"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/pin"
)

// lock locks b, the first bucket of a chain, and pins the goroutine; unlock undoes
// both. lock returns false, having done neither, if the bucket has moved. It yields to
// the holder of the lock.
func (b *bucket) lock() bool {
	for n := 1; ; n++ {
		meta := b.meta.Load()
		switch {
		case meta&bucketMoved != 0:
			return false
		case meta&bucketLocked != 0:
			if n%lockSpins == 0 {
				runtime.Gosched()
			}
		default:
			pinLocker()
			if b.meta.CompareAndSwap(meta, meta|bucketLocked) {
				return true
			}
			unpinLocker()
		}
	}
}

func (b *bucket) unlock() {
	b.meta.And(^uint64(bucketLocked))
	unpinLocker()
}

// lockSpins is how often to look at a lock before yielding.
const lockSpins = 32

// Where goroutines are stopped in the middle, or are not known to the runtime's pins,
// they must not be pinned.
func pinLocker() {
	if !hooks.Enabled {
		pin.Pin()
	}
}

func unpinLocker() {
	if !hooks.Enabled {
		pin.Unpin()
	}
}

// raw returns the word of a cell for the holder of the lock of its bucket, whose
// accesses are no yield points.
func raw(s *cell) *unsafe.Pointer {
	return (*unsafe.Pointer)(unsafe.Pointer(s))
}

func rawLoad(s *cell) *node {
	return (*node)(stdatomic.LoadPointer(raw(s)))
}

func rawStore(s *cell, v *node) {
	stdatomic.StorePointer(raw(s), unsafe.Pointer(v))
}
