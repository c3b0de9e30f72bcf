//go:build race

package cli

// raced says that the race detector watches, which makes a transaction take some
// fifty times as long.
const raced = true
