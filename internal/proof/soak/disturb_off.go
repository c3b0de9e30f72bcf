//go:build !mvcccheck

package soak

// disturb does nothing: the points at which goroutines could be stopped are
// compiled in with the build tag mvcccheck.
func disturb(Round) (end func()) { return func() {} }
