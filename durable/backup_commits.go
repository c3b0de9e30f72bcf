package durable

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/mvccmap/mvccmap/internal/seam"
	"github.com/mvccmap/mvccmap/internal/seam/disk"
	"github.com/mvccmap/mvccmap/mvcc"
)

// saveCommits writes commits of [mvcc.DB.Watch], all from after on, in their order, as a backup of
// differences. The last commit may be a Progress. It returns after for the next call; the first
// call needs only after.Epoch. The backup names only the tables that have changed, or were closed.
// Of opts Version, Progress and Refused count. Otherwise it is as [Save], without a snapshot.
func saveCommits(
	ctx context.Context, db *mvcc.DB, w io.Writer, codec Codec, after Backup, commits []mvcc.DBCommit,
	opts *SaveOptions,
) (Backup, error) {
	s := newSaving(ctx, db, w, codec, opts)
	switch {
	case len(commits) == 0:
		panic("durable: saveCommits: there are no commits")
	case after.DB != "" && after.DB != s.DB:
		panic("durable: saveCommits: after is a backup of another database")
	case s.opts.Of != (mvcc.DBSnapshot{}) || s.opts.Since != (mvcc.DBSnapshot{}):
		panic("durable: saveCommits: SaveOptions.Of or Since is set")
	}
	s.Since, s.after, s.changes = after.Epoch, &after, map[seam.Table][]changesAt{}
	var changed []seam.Table
	note := func(t seam.Table, changes any, n int) {
		before, was := s.changes[t]
		if !was {
			changed = append(changed, t)
		}
		s.changes[t] = append(before, changesAt{s.Epoch, changes, n})
	}
	for i, c := range commits {
		if c.Epoch < s.Since || i > 0 && c.Epoch < commits[i-1].Epoch {
			panic("durable: saveCommits: the commits are not in their order")
		}
		s.Epoch = c.Epoch
		if closed := s.db.Changes(c, note); closed != nil {
			table := described(closed)
			table.Closed = true
			s.closed = append(s.closed, table)
			changed = slices.DeleteFunc(changed, func(t seam.Table) bool { return t == closed })
		}
	}
	err := runSaving(s, changed)
	return s.Backup, err
}

// loadCommits is [Load] of a backup of differences to the backup after, which an earlier Load or
// loadCommits has returned. The Backup that it returns is after of the next call. For differences
// of another life of the database, DB and Epoch of after name its state there; the first ones name
// all tables. It does not check that nobody else writes to the copy. Migrated tables go on as they
// have begun, with the same Rename. If loadCommits fails Load has to begin anew.
func loadCommits(
	ctx context.Context, db *mvcc.DB, r io.Reader, codec Codec, after Backup, opts *LoadOptions,
) (Backup, error) {
	return load(ctx, db, r, codec, opts, &after, false)
}

// SaveFile is [Save] into a file, which is replaced when the backup is complete and on disk. Only
// its owner can read a new file. The backup is first written to a file beside it, whose name begins
// with that of path and ends with ".tmp"; after a crash that file stays.
func SaveFile(
	ctx context.Context, db *mvcc.DB, path string, codec Codec, opts *SaveOptions,
) (b Backup, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return b, err
	}
	done := false
	defer func() {
		if !done { // even if a function of the user panics
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	if b, err = Save(ctx, db, f, codec, opts); err != nil {
		return b, err
	}
	if err = f.Sync(); err != nil {
		return b, err
	}
	done = true
	if err = f.Close(); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return b, errors.Join(err, os.Remove(f.Name()))
	}
	return b, disk.SyncFolder(filepath.Dir(path))
}

// LoadFile is [Load] from a file, in which nothing may follow the backup.
func LoadFile(
	ctx context.Context, db *mvcc.DB, path string, codec Codec, opts *LoadOptions,
) (Backup, error) {
	return namedLoad(loadFile(ctx, db, path, codec, opts))
}

func loadFile(
	ctx context.Context, db *mvcc.DB, path string, codec Codec, opts *LoadOptions,
) (Backup, error) {
	f, err := os.Open(path)
	if err != nil {
		return Backup{}, err
	}
	defer f.Close()
	return load(ctx, db, bufio.NewReaderSize(f, 1<<16), codec, opts, nil, true)
}
