//go:build mvcccheck

package atomic

import (
	"sync/atomic"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// A Uint64 is an [atomic.Uint64] whose accesses are announced.
type Uint64 struct{ v atomic.Uint64 }

// Load is that of [atomic.Uint64].
func (x *Uint64) Load() uint64 {
	hooks.Before(hooks.Read, unsafe.Pointer(x))
	return x.v.Load()
}

// Store is that of [atomic.Uint64].
func (x *Uint64) Store(n uint64) {
	hooks.Before(hooks.Write, unsafe.Pointer(x))
	x.v.Store(n)
}

// Add is that of [atomic.Uint64].
func (x *Uint64) Add(n uint64) uint64 {
	hooks.Before(hooks.Write, unsafe.Pointer(x))
	return x.v.Add(n)
}

// And is that of [atomic.Uint64].
func (x *Uint64) And(mask uint64) uint64 {
	hooks.Before(hooks.Write, unsafe.Pointer(x))
	return x.v.And(mask)
}

// Or is that of [atomic.Uint64].
func (x *Uint64) Or(mask uint64) uint64 {
	hooks.Before(hooks.Write, unsafe.Pointer(x))
	return x.v.Or(mask)
}

// CompareAndSwap is that of [atomic.Uint64].
func (x *Uint64) CompareAndSwap(old, n uint64) bool {
	hooks.Before(hooks.Write, unsafe.Pointer(x))
	if x.v.CompareAndSwap(old, n) {
		return true
	}
	hooks.Failed()
	return false
}

// A Pointer is an [atomic.Pointer] whose accesses are announced.
type Pointer[T any] struct{ v atomic.Pointer[T] }

// Load is that of [atomic.Pointer].
func (x *Pointer[T]) Load() *T {
	hooks.Before(hooks.Read, unsafe.Pointer(x))
	return x.v.Load()
}

// Store is that of [atomic.Pointer].
func (x *Pointer[T]) Store(p *T) {
	hooks.Before(hooks.Write, unsafe.Pointer(x))
	x.v.Store(p)
}

// CompareAndSwap is that of [atomic.Pointer].
func (x *Pointer[T]) CompareAndSwap(old, p *T) bool {
	hooks.Before(hooks.Write, unsafe.Pointer(x))
	if x.v.CompareAndSwap(old, p) {
		return true
	}
	hooks.Failed()
	return false
}

// Release is x.Store(n), for a word that only the caller writes.
func Release(x *Uint64, n uint64) { x.Store(n) }

// Clear is p.Store(nil).
func Clear[T any](p *Pointer[T]) { p.Store(nil) }
