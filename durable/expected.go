package durable

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/mvccmap/mvccmap/internal/seam/disk"
)

// An expected is a file that must be there.
type expected struct {
	number uint64
	info   os.FileInfo
}

// expect notes that a file must be there, until expectFrom says otherwise.
func (j *Journal) expect(name string, number uint64) error {
	info, err := os.Stat(filepath.Join(j.dir, name))
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.files[name] = expected{number, info}
	return nil
}

// expectFrom says that files with lower numbers need not be there any more.
func (j *Journal) expectFrom(number uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	maps.DeleteFunc(j.files, func(_ string, f expected) bool { return f.number < number })
}

// present returns an error if a file that must exist does not. Only the goroutine of the journal
// can be sure of this: others may miss a file that was just removed because it is not needed.
func (j *Journal) present() error {
	j.mu.Lock()
	files := maps.Clone(j.files)
	j.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		info, err := os.Stat(filepath.Join(j.dir, name))
		if err != nil {
			return fmt.Errorf("durable: a file has gone: %w", err)
		}
		if !os.SameFile(info, files[name].info) {
			return fmt.Errorf("durable: a file has gone: another one is at %s",
				filepath.Join(j.dir, name))
		}
	}
	return nil
}

// relock makes the folder and the lock anew if somebody has removed them.
func (j *Journal) relock() error {
	info, err := os.Stat(filepath.Join(j.dir, lockName))
	if err == nil {
		if held, err := j.lock.Stat(); err == nil && os.SameFile(info, held) {
			return nil
		}
	}
	if err := disk.MakeFolder(j.dir); err != nil {
		return err
	}
	lock, err := lockDir(j.dir)
	if err != nil {
		return err
	}
	bounds, err := openBound(j.dir)
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	err = j.unlock()
	j.lock, j.bounds = lock, bounds
	return err
}

// unlock closes the files that are open as long as the journal is.
func (j *Journal) unlock() error {
	err := j.lock.Close()
	if j.bounds != nil {
		err = errors.Join(err, j.bounds.Close())
	}
	return err
}

// finish says that the journal was closed as it should be.
func (j *Journal) finish() error {
	b := j.acknowledged
	b.closed = true // up to its clock: commits after the last Sync are lost
	if err := b.write(j.bounds); err != nil {
		return err
	}
	return j.bounds.Sync()
}
