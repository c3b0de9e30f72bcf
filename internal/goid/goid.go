// Package goid tells goroutines apart: it says whether two calls were made by the same
// one. Nothing else follows from an ID, which another goroutine may have later.
package goid

// Hash spreads IDs.
func (id ID) Hash() uint64 { return uint64(id) * 0x9e3779b97f4a7c15 >> 32 }
