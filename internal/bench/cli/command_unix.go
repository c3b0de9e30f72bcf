//go:build unix

package cli

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps the signals of the terminal away from a command.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
