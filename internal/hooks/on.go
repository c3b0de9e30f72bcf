//go:build mvcchooks

package hooks

import "sync/atomic"

// Enabled reports whether hooks are compiled in.
const Enabled = true

var fn atomic.Pointer[func(Point)]

// At calls the installed function, if there is one.
func At(p Point) {
	if f := fn.Load(); f != nil {
		(*f)(p)
	}
}

// Set installs f for the whole process and returns the function that removes
// it. f is called by every goroutine that passes a point, also by those in the
// background.
func Set(f func(Point)) (remove func()) {
	fn.Store(&f)
	return func() { fn.Store(nil) }
}
