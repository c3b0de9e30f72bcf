package disk

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// SyncFolder makes durable that a file was made, renamed or removed in a folder, where that is
// possible (not on Windows).
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// MakeFolder makes a folder that only its owner can use, and the folders above it, and makes their
// names durable.
func MakeFolder(dir string) error {
	above := filepath.Dir(filepath.Clean(dir))
	if _, err := os.Stat(dir); err == nil || above == dir {
		return os.MkdirAll(dir, 0o700) // it may be a file
	}
	if err := MakeFolder(above); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return SyncFolder(above)
}
