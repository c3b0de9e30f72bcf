//go:build !mvcchooks

package hooks

// Enabled reports whether hooks are compiled in.
const Enabled = false

// At does nothing in ordinary builds.
func At(Point) {}
