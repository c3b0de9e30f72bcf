//go:build !linux

package nemesis

import "time"

// now returns the time by a clock that all processes of the machine share. It must not be set
// meanwhile.
func now() int64 { return time.Now().UnixNano() }
