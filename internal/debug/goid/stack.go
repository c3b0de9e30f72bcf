//go:build !gc || !(amd64 || arm64)

package goid

import (
	"bytes"
	"runtime"
	"strconv"
)

// An ID names a goroutine as long as it runs: it is the number in its stack trace.
type ID uint64

// Get returns the ID of the calling goroutine. It costs about a microsecond.
func Get() ID {
	var room [64]byte
	trace := room[:runtime.Stack(room[:], false)] // goroutine 123 [running]:
	number, _, _ := bytes.Cut(bytes.TrimPrefix(trace, []byte("goroutine ")), []byte(" "))
	id, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil {
		panic("goid: a stack trace begins with " + string(trace))
	}
	return ID(id)
}
