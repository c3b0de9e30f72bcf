//go:build !mvcccheck

package invariant

// Enabled reports whether checks are compiled in.
const Enabled = false

// A Ghost is a word that only checks read and write. Ordinary builds have none;
// put it first in a struct, where it takes no room.
type Ghost struct{}

// Load returns 0.
func (*Ghost) Load() uint64 { return 0 }

// Store does nothing.
func (*Ghost) Store(uint64) {}

// Swap returns 0.
func (*Ghost) Swap(uint64) uint64 { return 0 }

// Add returns 0.
func (*Ghost) Add(uint64) uint64 { return 0 }

// Lower does nothing.
func (*Ghost) Lower(uint64) {}
