// Package atomic has the words that goroutines of a map share. In ordinary
// builds its types are other names for those of sync/atomic. With the build tag
// mvcccheck every access is announced to the scheduler that a test has
// installed, see [github.com/mvccmap/mvccmap/internal/debug/hooks.Schedule]: so there
// is a yield point before each, and none can be forgotten.
package atomic
