//go:build unix && !solaris && !aix

package durable

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockDir locks a folder until the lock is closed, or the process ends.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s is in use by another journal: %w", dir, err)
	}
	return f, nil
}
