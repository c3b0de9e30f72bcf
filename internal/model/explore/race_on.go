//go:build race

package explore

// Race says that the race detector is on. The checker runs in one goroutine: there is
// nothing to detect, and it would take ten times as long.
const Race = true
