//go:build mvcccheck

package invariant

import "sync/atomic"

// Enabled reports whether checks are compiled in.
const Enabled = true

// A Ghost is a word that only checks read and write.
type Ghost struct{ word atomic.Uint64 }

// Load returns the word.
func (g *Ghost) Load() uint64 { return g.word.Load() }

// Store sets the word.
func (g *Ghost) Store(x uint64) { g.word.Store(x) }

// Swap sets the word and returns the old one.
func (g *Ghost) Swap(x uint64) uint64 { return g.word.Swap(x) }

// Add adds x, modulo 2^64, and returns the sum.
func (g *Ghost) Add(x uint64) uint64 { return g.word.Add(x) }

// Lower makes the word x, if it is 0 or above x.
func (g *Ghost) Lower(x uint64) {
	for {
		old := g.word.Load()
		if old != 0 && old <= x || g.word.CompareAndSwap(old, x) {
			return
		}
	}
}
