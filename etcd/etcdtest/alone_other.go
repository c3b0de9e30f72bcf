//go:build !linux

package etcdtest

import "os/exec"

// alone does nothing: the program hears of Ctrl-C, as this one does.
func alone(*exec.Cmd) {}
