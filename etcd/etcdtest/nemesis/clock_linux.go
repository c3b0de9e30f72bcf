package nemesis

import "golang.org/x/sys/unix"

// now returns the time by a clock that all processes of the machine share, and that nobody sets.
func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}
