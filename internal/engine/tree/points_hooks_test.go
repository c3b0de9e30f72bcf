//go:build mvcccheck

package tree

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// everyPoint has f called at each point, and before each access to a cell.
func everyPoint(f func()) (remove func()) {
	points, accesses := hooks.Set(func(hooks.Point) { f() }), hooks.Accesses(func(unsafe.Pointer) { f() })
	return func() {
		points()
		accesses()
	}
}

// A goroutine is stopped at a point, or before an access to a cell, and others do all that does not
// need its lock. It goes on, and all is as it should be.
func TestStopped(t *testing.T) {
	hook := func(s *stopper) (remove func()) { return everyPoint(s.countDown) }
	t.Run("ints", func(t *testing.T) { preemptAll(t, someInts, 1, hook) })
	t.Run("text", func(t *testing.T) { preemptAll(t, someText, 1, hook) })
	t.Run("ragged", func(t *testing.T) { preemptAll(t, raggedText, 5, hook) })
	t.Run("compare", func(t *testing.T) { preemptAll(t, someByCompare, 5, hook) })
}

// The same as TestStress, where goroutines are stopped at many points for a while.
func TestStressStopped(t *testing.T) {
	defer everyPoint(func() {
		switch n := rand.IntN(1 << 13); {
		case n < 2:
			time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
		case n < 1<<9:
			runtime.Gosched()
		}
	})()
	TestStress(t)
}
