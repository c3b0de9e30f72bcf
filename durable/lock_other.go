//go:build !unix || solaris || aix

package durable

import (
	"os"
	"path/filepath"
)

// lockDir does not lock: there is nothing for it in package syscall.
func lockDir(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
}
