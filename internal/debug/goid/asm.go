//go:build gc && (amd64 || arm64)

package goid

// An ID names a goroutine as long as it runs: it is the address of its descriptor, which
// does not move.
type ID uintptr

// Get returns the ID of the calling goroutine. It costs a nanosecond.
func Get() ID { return get() }

func get() ID
