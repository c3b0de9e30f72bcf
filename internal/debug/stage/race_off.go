//go:build !race

package stage

// Race reports whether the race detector is compiled in.
const Race = false
