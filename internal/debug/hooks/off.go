//go:build !mvcccheck

package hooks

import (
	"sync"
	"unsafe"
)

// Enabled reports whether hooks are compiled in.
const Enabled = false

// At does nothing in ordinary builds.
func At(Point) {}

// Scheduled reports false in ordinary builds.
func Scheduled() bool { return false }

// Before does nothing in ordinary builds.
func Before(Access, unsafe.Pointer) {}

// Mutex does nothing in ordinary builds.
func Mutex(*sync.Mutex) {}

// Failed does nothing in ordinary builds.
func Failed() {}

// Index does nothing in ordinary builds.
func Index[K any](Access, K) {}

// Walking does nothing in ordinary builds.
func Walking() {}

// GaveUp does nothing in ordinary builds.
func GaveUp() {}

// TakeIdle returns nil in ordinary builds.
func TakeIdle() any { return nil }

// GiveIdle does nothing in ordinary builds.
func GiveIdle(any) {}

// Looks returns n in ordinary builds.
func Looks(n int) int { return n }
