// Package goid tells goroutines apart: it says whether the same goroutine made two calls. An ID
// says nothing else, as another goroutine may have the ID later.
package goid

import "time"

// InBubble reports whether the calling goroutine is in a bubble of testing/synctest: time has no
// monotonic clock there. It costs as much as [time.Now].
func InBubble() bool { now := time.Now(); return now == now.Round(0) }
