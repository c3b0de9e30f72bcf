package durable

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/mvccmap/mvccmap/internal/seam/disk"
)

// beforeName is the folder with the files that a program with other types, names or version has
// left. The folder is a journal of its own. It was made at its time of modification, and stays for
// KeepBefore.
const beforeName = "before"

// keepBefore keeps the files that were found, which have other types, names or version than the
// program's: the program that wrote them cannot read the new files. It keeps links, which cost
// nothing until the files are removed. An older folder "before" goes into the new one.
func (j *Journal) keepBefore(f *found) error {
	before, next := filepath.Join(j.dir, beforeName), filepath.Join(j.dir, nextName)
	names := []string{backupName(f.from)}
	for _, n := range f.journals {
		names = append(names, journalName(n))
	}
	if j.opts.KeepBefore < 0 {
		return nil
	}
	if err := j.finishNext(); err != nil {
		return err
	}
	info, err := os.Stat(before)
	there := err == nil
	switch {
	case there && !info.IsDir():
		return fmt.Errorf("%s is not a folder: what is here cannot be kept in it", before)
	case !there && !errors.Is(err, os.ErrNotExist):
		return err
	case there && j.sameFiles(names):
		return nil
	}
	made := before + ".tmp"
	if err := j.linkAll(names, made); err != nil {
		return err
	}
	if there {
		// The folder next is whole. Whenever the process ends, finishNext goes on.
		if err := os.Rename(made, next); err != nil {
			return err
		}
		if err := disk.SyncFolder(j.dir); err != nil {
			return err
		}
		if err := os.Rename(before, filepath.Join(next, beforeName)); err != nil {
			return err
		}
		if err := disk.SyncFolder(next); err != nil {
			return err
		}
		made = next
	}
	if err := os.Rename(made, before); err != nil {
		return err
	}
	return disk.SyncFolder(j.dir)
}

// nextName is the folder that takes the place of the folder before, which it then has in it.
const nextName = beforeName + ".next"

// finishNext finishes an interrupted keepBefore, or undoes one that had only begun.
func (j *Journal) finishNext() error {
	before, next := filepath.Join(j.dir, beforeName), filepath.Join(j.dir, nextName)
	if _, err := os.Stat(next); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return err
	}
	if _, err := os.Stat(before); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, os.RemoveAll(next))
	}
	return os.Rename(next, before)
}

// sameFiles reports whether files are in before too, as links.
func (j *Journal) sameFiles(names []string) bool {
	for _, name := range names {
		is, err := os.Stat(filepath.Join(j.dir, name))
		kept, err2 := os.Stat(filepath.Join(j.dir, beforeName, name))
		if err != nil || err2 != nil || !os.SameFile(is, kept) {
			return false
		}
	}
	return true
}

// linkAll makes a folder of links to files, and of a copy of their bound.
func (j *Journal) linkAll(names []string, made string) error {
	if err := os.RemoveAll(made); err != nil {
		return err
	}
	if err := os.Mkdir(made, 0o700); err != nil {
		return err
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
	// The bound is written to: it is not linked.
	err := copyFile(filepath.Join(j.dir, boundName), filepath.Join(made, boundName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return disk.SyncFolder(made)
}

// forgetBefore removes files that keepBefore has kept for long enough, also within later folders.
func (j *Journal) forgetBefore() error {
	if err := j.finishNext(); err != nil {
		return err
	}
	for dir := j.dir; ; dir = filepath.Join(dir, beforeName) {
		before := filepath.Join(dir, beforeName)
		made := before + ".tmp" // a part of a folder would be taken for a whole one
		if err := os.RemoveAll(made); err != nil {
			return err
		}
		info, err := os.Stat(before)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !info.IsDir():
			return nil // keepBefore says that it is in the way
		case time.Since(info.ModTime()) < j.opts.KeepBefore:
			continue
		}
		at, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if err := os.Rename(before, made); err != nil {
			return err
		}
		err = errors.Join(disk.SyncFolder(dir), os.RemoveAll(made))
		return errors.Join(err, os.Chtimes(dir, at.ModTime(), at.ModTime())) // dir may be one too
	}
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
