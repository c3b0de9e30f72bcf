// Package goid tells goroutines apart: it says whether two calls were made by the same
// one. Nothing else follows from an ID, which another goroutine may have later.
package goid

import "time"

// InBubble reports whether the calling goroutine is in a bubble of testing/synctest: time has no
// monotonic clock there. It costs as much as [time.Now].
func InBubble() bool { now := time.Now(); return now == now.Round(0) }
