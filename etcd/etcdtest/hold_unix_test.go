//go:build unix

package etcdtest

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// faults is how many kinds of faults there are.
const faults = 4

// hold makes a process stand still, or go on.
func hold(t *testing.T, pid int, still bool) {
	sig := syscall.SIGCONT
	if still {
		sig = syscall.SIGSTOP
	}
	require.NoError(t, syscall.Kill(pid, sig))
}
