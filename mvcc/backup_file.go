package mvcc

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/mvccmap/mvccmap/internal/disk"
)

// SaveFile is [DB.Save] into a file. The file at path is replaced when the backup is complete and
// on disk: whatever happens before that, it stays as it is. A new file can be read by its owner
// alone. It is written beside it first, with a name that begins with that of path and ends
// with ".tmp"; after a crash that stays.
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
