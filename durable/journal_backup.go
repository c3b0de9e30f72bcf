package durable

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A backup is taken by a goroutine of its own.
type backup struct {
	number  uint64
	of      mvcc.DBSnapshot
	epoch   uint64
	info    Backup
	refused []*CodecError
	done    chan error
}

// snapshot returns a backup that can be taken.
func (j *Journal) snapshot() *backup {
	s := j.door.SparedSnapshot()
	return &backup{of: s, epoch: s.Epoch(), done: make(chan error, 1)}
}

// take takes a backup.
func (w *writer) take(ctx context.Context, b *backup) {
	w.backup, b.number = b, w.number
	j, c := w.j, &coroutine{}
	c.start(func() {
		j.within.Run(func() {
			var err error
			b.info, err = SaveFile(ctx, j.db, filepath.Join(j.dir, backupName(b.number)), j.codec,
				&SaveOptions{Of: b.of, Version: j.opts.Version, coroutine: c,
					Refused: func(e *CodecError) { b.refused = append(b.refused, e) }})
			b.of.Close()
			b.done <- err
			j.writing.Resume()
			j.door.RequestProgress()
		})
	})
}

// await waits until a backup that is being taken is complete, or has failed.
func (j *Journal) await(b *backup) { j.writing.Await(func() bool { return len(b.done) > 0 }) }

// tidy removes files that are no longer needed: J2. A removal that fails is tried again after the
// next backup.
func (j *Journal) tidy(below uint64) {
	if err := errors.Join(removeBelow(j.dir, below), j.forgetBefore()); err != nil {
		j.tell(err)
	}
}

// look finishes the backup that is being taken, if it is complete.
func (w *writer) look() error {
	if w.backup == nil {
		return nil
	}
	select {
	case err := <-w.backup.done:
		b := w.backup
		if w.backup = nil; err != nil {
			return err
		}
		return w.taken(b)
	default:
		return nil
	}
}

// taken is called when a backup is on disk.
func (w *writer) taken(b *backup) error {
	j := w.j
	w.compact = max(j.opts.Compact, b.info.Bytes)
	j.expectFrom(b.number)
	if err := j.expect(backupName(b.number), b.number); err != nil {
		return err
	}
	j.refuse(b.refused, true, b.epoch)
	j.found.same, j.found.from = false, 0 // it is not needed any more
	j.mu.Lock()
	j.err = nil
	j.stats.Backups++
	j.stats.LastBackup = time.Now()
	j.mu.Unlock()
	if !w.safe {
		w.safe = true
		w.based()
	}
	j.tidy(b.number)
	return nil
}
