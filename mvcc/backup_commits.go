package mvcc

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/mvccmap/mvccmap/internal/disk"
)

func (db door) SaveCommits(
	ctx context.Context, w io.Writer, codec Codec, after Backup, commits []DBCommit, opts *SaveOptions,
) (Backup, error) {
	s := db.newSaving(ctx, w, codec, opts)
	switch {
	case len(commits) == 0:
		panic("mvcc: SaveCommits: there are no commits")
	case after.DB != "" && after.DB != s.DB:
		panic("mvcc: SaveCommits: after is a backup of another database")
	case s.opts.Of.st != nil || s.opts.Since.st != nil:
		panic("mvcc: SaveCommits: SaveOptions.Of or Since is set")
	}
	s.Since, s.after, s.changes = after.Epoch, &after, map[*engine][]changesAt{}
	var changed []*core
	for i, c := range commits {
		if c.Epoch < s.Since || i > 0 && c.Epoch < commits[i-1].Epoch {
			panic("mvcc: SaveCommits: the commits are not in their order")
		}
		s.Epoch = c.Epoch
		if c.closed != nil {
			table := coreAt(c.closed).described()
			table.Closed = true
			s.closed = append(s.closed, table)
			changed = slices.DeleteFunc(changed, func(table *core) bool { return table == coreAt(c.closed) })
		}
		for _, t := range c.tables {
			if s.changes[t.of] == nil {
				changed = append(changed, coreAt(t.of))
			}
			s.changes[t.of] = append(s.changes[t.of], changesAt{c.Epoch, t.changes, t.n})
		}
	}
	err := runSaving(s, changed)
	return s.Backup, err
}

func (db door) LoadCommits(
	ctx context.Context, r io.Reader, codec Codec, after Backup, opts *LoadOptions,
) (Backup, error) {
	return db.load(ctx, r, codec, opts, &after, false)
}

// SaveFile is [DB.Save] into a file, which is replaced when the backup is complete and on disk. A
// new file can be read by its owner alone. It is written beside it first, with a name that begins
// with that of path and ends with ".tmp"; after a crash that stays.
func (db *DB) SaveFile(
	ctx context.Context, path string, codec Codec, opts *SaveOptions,
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
	if b, err = db.Save(ctx, f, codec, opts); err != nil {
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

// LoadFile is [DB.Load] from a file, in which nothing may follow the backup.
func (db *DB) LoadFile(
	ctx context.Context, path string, codec Codec, opts *LoadOptions,
) (Backup, error) {
	f, err := os.Open(path)
	if err != nil {
		return Backup{}, err
	}
	defer f.Close()
	return db.load(ctx, bufio.NewReaderSize(f, 1<<16), codec, opts, nil, true)
}
