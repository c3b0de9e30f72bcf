package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mvccmap/mvccmap/internal/frames"
	"github.com/mvccmap/mvccmap/mvcc"
)

// load makes the tables what the folder has of them, and returns the highest number there.
func (j *Journal) load(ctx context.Context) (last uint64, err error) {
	l, err := list(j.dir)
	if err != nil {
		return 0, err
	}
	var after mvcc.Backup
	from := uint64(0)
	if len(l.backups) > 0 {
		from = l.backups[len(l.backups)-1]
		path := filepath.Join(j.dir, backupName(from))
		after, err = j.db.LoadFile(ctx, path, j.codec, &mvcc.LoadOptions{Version: j.opts.Version})
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
	}
	over := len(l.backups) == 0
	for _, n := range l.journals {
		if n < from {
			continue
		}
		if err := j.loadJournal(ctx, n, &after, &over); err != nil {
			return 0, err
		}
		last = n
	}
	return max(last, from), nil
}

// loadJournal loads what follows after, and tells what that is then, and whether it is over.
func (j *Journal) loadJournal(ctx context.Context, n uint64, after *mvcc.Backup, over *bool) error {
	path := filepath.Join(j.dir, journalName(n))
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in, at, why := bufio.NewReaderSize(f, 1<<16), int64(0), error(nil)
	for !*over {
		magic, err := in.Peek(len(markMagic))
		if len(magic) == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		length := int64(0)
		if string(magic) == string(markMagic[:]) {
			var e uint64
			var db string
			if e, db, length, err = readMark(in); err == nil && (e > after.Epoch || db != after.DB) {
				*over = true
				continue
			}
		} else if err == nil || errors.Is(err, io.EOF) {
			var b mvcc.Backup
			b, err = j.db.LoadCommits(ctx, in, j.codec, *after, &mvcc.LoadOptions{Version: j.opts.Version})
			if length = b.Bytes; err == nil {
				*after = b
				j.stats.Loaded++
			} else if b.DB != "" && (b.DB != after.DB || b.Since != after.Epoch) {
				why, *over = err, true // J1: a gap
				continue
			}
		}
		switch why = err; {
		case isDamage(err):
			*over = true
		case err != nil:
			return fmt.Errorf("%s, at offset %d: %w", path, at, err)
		default:
			at += length
		}
	}
	// Nothing that is here may have been on disk.
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return err
	}
	rest, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if e := lastMark(rest, after.DB); e > after.Epoch {
		return fmt.Errorf("%s, at offset %d: what was on disk up to epoch %d is lost after epoch %d: %w",
			path, at, e, after.Epoch, damage(why, at))
	}
	j.stats.Dropped += int64(len(rest))
	return nil
}

func isDamage(err error) bool {
	var of *mvcc.DamageError
	var in *frames.DamageError
	return errors.As(err, &of) || errors.As(err, &in)
}

// damage returns a [*mvcc.DamageError] at an offset of a journal.
func damage(why error, at int64) error {
	d := &mvcc.DamageError{Offset: at, Reason: "what should come before it is missing"}
	var of *mvcc.DamageError
	var in *frames.DamageError
	switch {
	case errors.As(why, &of):
		d.Offset, d.Reason = at+of.Offset, of.Reason
	case errors.As(why, &in):
		d.Offset, d.Reason = at+in.Offset, in.Reason
	}
	return d
}
