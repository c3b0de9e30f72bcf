//go:build !unix || solaris || aix

package journal

import (
	"io"
	"os"
	"path/filepath"
)

// lockDir does not lock: there is nothing for it in package syscall.
func lockDir(dir string) (io.Closer, error) {
	return os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
}
