// Package invariant is how the engine checks itself. In ordinary builds [Enabled] is
// the constant false, every check disappears and the ghost words take no room; with the
// build tag mvcccheck each rule that docs/protocol.md states, and that can be evaluated
// while other goroutines go on, is evaluated where it is relied on. A violation of one
// panics.
//
// A check must be true at every interleaving, so it may rely only on words that no
// longer change, on words that only grow, or on words that the calling goroutine owns;
// and it must not take part in the protocol: it helps, pushes and aborts nobody, passes
// no yield point, and waits for nobody.
//
// A ghost word holds a fact that the protocol need not know and the proof talks about:
// which versions were dropped, or whether a begin has passed its check.
package invariant

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// A Violation is the panic of a failed check.
type Violation struct{ What string }

// Error says which invariant was violated, and how.
func (v *Violation) Error() string { return "invariant violated: " + v.What }

// Violated panics with a [Violation].
func Violated(format string, args ...any) {
	panic(&Violation{fmt.Sprintf(format, args...)})
}

// Peek loads the atomic word at p, without a yield point: with yield points compiled in, an
// ordinary load of a shared word is a step that a scheduler decides about.
func Peek(p unsafe.Pointer) uint64 { return atomic.LoadUint64((*uint64)(p)) }

// PeekPointer is Peek for an atomic pointer to a T.
func PeekPointer[T any](p unsafe.Pointer) *T {
	return (*T)(atomic.LoadPointer((*unsafe.Pointer)(p)))
}
