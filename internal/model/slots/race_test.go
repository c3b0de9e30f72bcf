//go:build race

package slots_test

// race says that the race detector is on. The checker runs in one goroutine:
// there is nothing to detect, and it would take ten times as long.
const race = true
