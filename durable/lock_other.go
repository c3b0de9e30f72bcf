//go:build !unix || solaris || aix

package durable

import (
	"os"
	"path/filepath"
)

// lockDir does not lock: package syscall has no lock here.
func lockDir(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
}
