//go:build unix

package nemesis

import "syscall"

// hold makes a process stand still, or go on.
func hold(pid int, still bool) error {
	if still {
		return syscall.Kill(pid, syscall.SIGSTOP)
	}
	return syscall.Kill(pid, syscall.SIGCONT)
}
