package journal

import (
	"bufio"
	"bytes"
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
	files, err := list(j.dir)
	if err != nil {
		return 0, err
	}
	l := loader{j: j, over: len(files.backups) == 0}
	if !l.over {
		last = files.backups[len(files.backups)-1]
		path := filepath.Join(j.dir, backupName(last))
		l.after, err = j.db.LoadFile(ctx, path, j.codec, &mvcc.LoadOptions{Version: j.opts.Version})
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
	}
	from := last
	for _, last = range files.journals {
		if last < from {
			continue
		}
		path := filepath.Join(j.dir, journalName(last))
		if err := l.journal(ctx, path); err != nil {
			return 0, fmt.Errorf("%s, at offset %d: %w", path, l.at, err)
		}
	}
	return max(last, from), nil
}

// A loader loads journals, one after the other, as far as they go.
type loader struct {
	j     *Journal
	after mvcc.Backup // what was loaded leads to there
	over  bool        // the rest does not go on from there
	at    int64       // in the journal
}

// errMissing says that a group does not follow the one before.
var errMissing = errors.New("what should come before it is missing")

// journal loads what is in a journal. Once l is over, it is an error if a mark in the rest says
// that more was on disk.
func (l *loader) journal(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	l.at = 0
	why := errMissing
	for in := bufio.NewReaderSize(f, 1<<16); !l.over; {
		if _, err := in.Peek(1); err == io.EOF {
			return nil
		}
		length, err := l.item(ctx, in)
		switch {
		case err == nil:
			l.at += length
		case damage(err, l.at) != nil:
			why, l.over = err, true
		default:
			return err
		}
	}
	if _, err := f.Seek(l.at, io.SeekStart); err != nil {
		return err
	}
	rest, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if e := lastMark(rest, l.after.DB); e > l.after.Epoch {
		return fmt.Errorf("what was on disk up to epoch %d is lost after epoch %d: %w",
			e, l.after.Epoch, damage(why, l.at))
	}
	l.j.stats.Dropped += int64(len(rest))
	return nil
}

// item loads a group, or reads a mark, and returns how long it is. The error wraps errMissing if
// it does not go on from after: J1.
func (l *loader) item(ctx context.Context, in *bufio.Reader) (length int64, err error) {
	magic, err := in.Peek(len(markMagic))
	switch {
	case bytes.Equal(magic, markMagic[:]):
		e, db, length, err := readMark(in)
		if err == nil && (e > l.after.Epoch || db != l.after.DB) {
			err = errMissing
		}
		return length, err
	case err != nil && err != io.EOF: // a group may be shorter
		return 0, err
	}
	b, err := l.j.db.LoadCommits(ctx, in, l.j.codec, l.after,
		&mvcc.LoadOptions{Version: l.j.opts.Version})
	switch {
	case err == nil:
		l.after = b
		l.j.stats.Loaded++
	case b.DB != "" && (b.DB != l.after.DB || b.Since != l.after.Epoch):
		err = fmt.Errorf("%w: %w", errMissing, err)
	}
	return b.Bytes, err
}

// damage returns the damage that an error tells of, with an offset in the journal; nil if it tells
// of something else.
func damage(err error, at int64) error {
	var of *mvcc.DamageError
	var in *frames.DamageError
	switch {
	case errors.As(err, &of):
		return &mvcc.DamageError{Offset: at + of.Offset, Reason: of.Reason}
	case errors.As(err, &in):
		return &mvcc.DamageError{Offset: at + in.Offset, Reason: in.Reason}
	case errors.Is(err, errMissing):
		return &mvcc.DamageError{Offset: at, Reason: errMissing.Error()}
	}
	return nil
}
