//go:build !nolinkname && !race

// Package pin keeps a goroutine on its processor for a few instructions.
package pin

import _ "unsafe" // for go:linkname

// Pin keeps the goroutine on its P, and the P with it, and returns the P's index.
// Between Pin and Unpin nothing may block or allocate, and it should last for tens of
// nanoseconds: a stop-the-world waits for it.
//
//go:linkname Pin runtime.procPin
//go:noescape
func Pin() int

// Unpin ends the effect of Pin.
//
//go:linkname Unpin runtime.procUnpin
//go:noescape
func Unpin()
