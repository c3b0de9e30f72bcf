//go:build !race

package cli

// raced says that the race detector watches.
const raced = false
