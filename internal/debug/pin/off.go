//go:build nolinkname || race

// Package pin keeps a goroutine on its processor for a few instructions, except in this build. This
// build has no access to the runtime, or has the race detector, which knows nothing of pinning.
package pin

// Pin does nothing in this build.
func Pin() int { return 0 }

// Unpin does nothing in this build.
func Unpin() {}
