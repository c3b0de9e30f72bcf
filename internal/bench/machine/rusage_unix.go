//go:build unix

package machine

import (
	"syscall"
	"time"
)

// Process returns the processor time that the process has used, in user and
// system mode, and how often its threads were switched, because they waited or
// because another was to run. ok is false if the system does not say. It is one
// system call, and waits for nobody.
func Process() (cpu time.Duration, switches uint64, ok bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), uint64(u.Nvcsw) + uint64(u.Nivcsw), true
}

// InSystem returns the processor time that the process has used in system mode; ok is false if the
// system does not say. It is one system call, and waits for nobody.
func InSystem() (cpu time.Duration, ok bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Stime.Nano()), true
}
