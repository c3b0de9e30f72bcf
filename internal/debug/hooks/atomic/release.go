//go:build !mvcccheck && (!amd64 || race || !gc)

package atomic

// Release is x.Store(n) for a word that only the caller writes: earlier writes of the caller are
// seen by whoever sees n, but the caller may go on before anybody sees it.
func Release(x *Uint64, n uint64) { x.Store(n) }

// Clear is p.Store(nil) in the way of [Release]. Others may write p too: a write of theirs
// meanwhile may be lost.
func Clear[T any](p *Pointer[T]) { p.Store(nil) }
