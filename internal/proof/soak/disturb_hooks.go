//go:build mvcccheck

package soak

import (
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// disturb stops goroutines at random between two steps of the protocol, so that others get in
// between: r says how often. The returned function ends that.
func disturb(r Round) (end func()) {
	if r.Disturb == 0 {
		return func() {}
	}
	return hooks.Set(func(hooks.Point) {
		switch n := rand.IntN(100 * r.Disturb); {
		case n == 0:
			time.Sleep(time.Duration(rand.IntN(100)) * time.Microsecond)
		case n <= 100:
			runtime.Gosched()
		}
	})
}
