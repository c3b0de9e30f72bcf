//go:build !race

package explore

// Race says that the race detector is on.
const Race = false
