//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// fill fills a pipe: the system says when nothing more goes in.
func fill(t *testing.T, w *os.File) {
	t.Helper()
	conn, err := w.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, conn.Write(func(fd uintptr) bool {
		require.NoError(t, syscall.SetNonblock(int(fd), true))
		for err = nil; err == nil || errors.Is(err, syscall.EINTR); {
			_, err = syscall.Write(int(fd), []byte{'x'})
		}
		return true
	}))
	require.ErrorIs(t, err, syscall.EAGAIN)
}
