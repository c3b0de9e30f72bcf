//go:build unix

package bench

import (
	"syscall"
	"time"
)

// processCPU returns the processor time that the process has used, in user and
// system mode. ok is false if the system does not say.
func processCPU() (used time.Duration, ok bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
