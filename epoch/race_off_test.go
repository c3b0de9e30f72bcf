//go:build !race

package epoch_test

// raceEnabled reports whether the race detector is on: everything is slower.
const raceEnabled = false
