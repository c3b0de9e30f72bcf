//go:build !mvcccheck && !race && gc

package atomic

import "unsafe"

// Release is x.Store(n) for a word that only the caller writes: whoever sees n sees the caller's
// earlier writes, but the caller may go on before anybody sees n. On this processor every store is
// like this; a store that is seen by everybody at once costs a locked instruction.
func Release(x *Uint64, n uint64) { *(*uint64)(unsafe.Pointer(x)) = n }

// Clear is p.Store(nil) in the way of [Release]. Others may write p too: a write of theirs
// meanwhile may be lost.
func Clear[T any](p *Pointer[T]) { *(**T)(unsafe.Pointer(p)) = nil }

// The casts rely on an atomic.Uint64 and an atomic.Pointer being no more than their contents.
var (
	_ [8]byte = [unsafe.Sizeof(Uint64{})]byte{}
	_ [8]byte = [unsafe.Sizeof(Pointer[int]{})]byte{}
)
