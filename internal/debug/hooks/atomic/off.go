//go:build !mvcccheck

package atomic

import "sync/atomic"

// Uint64 is [atomic.Uint64].
type Uint64 = atomic.Uint64

// Pointer is [atomic.Pointer].
type Pointer[T any] = atomic.Pointer[T]
