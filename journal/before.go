package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mvccmap/mvccmap/internal/disk"
)

// beforeName is the folder with the files that Open has found, until the journal is closed. It is
// a journal of its own.
const beforeName = "before"

// keepBefore keeps the files from number from on, unless there are such files already: then the
// journal was not closed since, and these are of the program that has closed it last. They are
// links: it costs nothing until the files themselves are removed.
func (j *Journal) keepBefore(files listing, from uint64) error {
	before := filepath.Join(j.dir, beforeName)
	switch info, err := os.Stat(before); {
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is not a folder: what is here cannot be kept in it", before)
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	made := before + ".tmp"
	if err := os.RemoveAll(made); err != nil {
		return err
	}
	if err := os.Mkdir(made, 0o700); err != nil {
		return err
	}
	names := []string{backupName(from)}
	for _, n := range files.journals {
		if n >= from {
			names = append(names, journalName(n))
		}
	}
	for _, name := range names {
		from, to := filepath.Join(j.dir, name), filepath.Join(made, name)
		if os.Link(from, to) == nil {
			continue
		}
		if err := copyFile(from, to); err != nil { // there may be no links
			return err
		}
	}
	// This one is written to: it is not linked.
	err := copyFile(filepath.Join(j.dir, boundName), filepath.Join(made, boundName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := disk.SyncFolder(made); err != nil {
		return err
	}
	if err := os.Rename(made, before); err != nil {
		return err
	}
	return disk.SyncFolder(j.dir)
}

// forgetBefore removes what keepBefore has kept.
func (j *Journal) forgetBefore() error {
	before := filepath.Join(j.dir, beforeName)
	made := before + ".tmp"
	if err := os.RemoveAll(made); err != nil {
		return err
	}
	// Renamed first: a half of it would be taken for the whole.
	if err := os.Rename(before, made); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	return errors.Join(disk.SyncFolder(j.dir), os.RemoveAll(made))
}

// copyFile copies a file, and brings it to the disk.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}
