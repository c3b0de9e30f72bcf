//go:build !mvcccheck && !race && gc

package atomic

import "unsafe"

// Release is x.Store(n) for a word that only the caller writes: earlier writes of the caller are
// seen by whoever sees n, but the caller may go on before anybody sees it. On this processor every
// store is like that, and one that is seen by everybody at once costs a locked instruction.
func Release(x *Uint64, n uint64) { *(*uint64)(unsafe.Pointer(x)) = n }

// Clear is p.Store(nil) in the same way, also for a word that others write: their writes
// meanwhile may be lost.
func Clear[T any](p *Pointer[T]) { *(**T)(unsafe.Pointer(p)) = nil }

// The casts rely on an atomic.Uint64 and an atomic.Pointer being no more than their contents.
var (
	_ [8]byte = [unsafe.Sizeof(Uint64{})]byte{}
	_ [8]byte = [unsafe.Sizeof(Pointer[int]{})]byte{}
)
