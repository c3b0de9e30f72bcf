package etcdtest

import (
	"os/exec"
	"syscall"
)

// alone has a program not hear of Ctrl-C, and not survive this one.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
