package mvcc

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/hooks/atomic"
)

// A version is private until it is installed, by a compare-and-swap that orders
// everything before it. Filling in its fields by atomic stores would cost a bus
// lock each, a tenth of a Store. These write them like ordinary variables.

// setWord sets a word that no other goroutine can reach yet.
func setWord(r *record, w word) { *(*word)(unsafe.Pointer(r)) = w }

// setLink sets a pointer that no other goroutine can reach yet.
func setLink[T any](l *atomic.Pointer[T], p *T) { *(**T)(unsafe.Pointer(l)) = p }

// The casts rely on an atomic.Uint64 and an atomic.Pointer being no more than
// what they hold.
var (
	_ [8]byte                         = [unsafe.Sizeof(atomic.Uint64{})]byte{}
	_ [unsafe.Sizeof(uintptr(0))]byte = [unsafe.Sizeof(atomic.Pointer[int]{})]byte{}
)
