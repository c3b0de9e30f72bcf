package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/internal/seam/disk"
)

func backupName(n uint64) string  { return fmt.Sprintf("backup-%08d", n) }
func journalName(n uint64) string { return fmt.Sprintf("journal-%08d", n) }

const (
	lockName = "lock"
	// highestNumber is one that no journal gets to: the next numbers would begin at 0.
	highestNumber = 1 << 63
)

// A listing has the files in the folder of a journal.
type listing struct {
	backups, journals []uint64 // sorted
	left              []string // files that were not finished
}

func list(dir string) (l listing, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return l, err
	}
	for _, e := range entries {
		var n uint64
		switch name := e.Name(); {
		case e.IsDir():
		case scans(name, "backup-%d", &n) && name == backupName(n):
			l.backups = append(l.backups, n)
		case scans(name, "journal-%d", &n) && name == journalName(n):
			l.journals = append(l.journals, n)
		case strings.HasPrefix(name, "backup-") && strings.HasSuffix(name, ".tmp"):
			l.left = append(l.left, name)
		}
	}
	slices.Sort(l.backups)
	slices.Sort(l.journals)
	if n := len(l.journals); n > 0 && l.journals[n-1] > highestNumber {
		path := filepath.Join(dir, journalName(l.journals[n-1]))
		return l, fmt.Errorf("%s is another file: no journal gets to such a number", path)
	}
	return l, nil
}

func scans(name, format string, n *uint64) bool {
	_, err := fmt.Sscanf(name, format, n)
	return err == nil
}

// removeBelow removes the files with numbers below n, and those left unfinished.
func removeBelow(dir string, n uint64) error {
	l, err := list(dir)
	if err != nil {
		return err
	}
	for _, k := range l.backups {
		if k < n {
			l.left = append(l.left, backupName(k))
		}
	}
	for _, k := range l.journals {
		if k < n {
			l.left = append(l.left, journalName(k))
		}
	}
	for _, name := range l.left {
		if e := os.Remove(filepath.Join(dir, name)); !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// syncFile brings a file to the disk that somebody else has written.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// createFile creates a file that only its owner can read, and brings its name to the disk.
func createFile(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := disk.SyncFolder(filepath.Dir(path)); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return f, nil
}
