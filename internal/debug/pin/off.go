//go:build nolinkname || race

// Package pin keeps a goroutine on its processor for a few instructions. In this
// build it does not: without access to the runtime it cannot, and the race detector
// knows nothing of it.
package pin

// Pin does nothing in this build.
func Pin() int { return 0 }

// Unpin does nothing in this build.
func Unpin() {}
