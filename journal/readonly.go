package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Load makes the tables what the journal in the folder dir has of them, as [Open] does, and no
// more: it writes nothing, takes no lock, and keeps nothing of what is committed afterwards. The
// folder may be on a full disk, or read-only, and a process may have it open: then the tables get
// what it had written at some moment during the call, with all that it had acknowledged before. If
// that process removes a file meanwhile Load begins anew, and others see what it had loaded by
// then.
//
// Of opts, which may be nil, Version, Versions, Rename, Migrate, AnyShape, Resume and Progress
// count. Of the statistics that it returns Epoch, Loaded and Dropped are set. The error is that of
// Open; it wraps [io/fs.ErrNotExist] if there is no journal in dir. What is in a table may be a
// part by then.
func Load(
	ctx context.Context, dir string, db *mvcc.DB, codec mvcc.Codec, opts *Options,
) (Stats, error) {
	j := newJournal("Load", ctx, dir, db, codec, opts)
	defer db.HoldExpiry()()
	for was := ""; ; {
		is, err := j.read(ctx)
		if err == nil {
			return j.stats, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || is == was {
			return j.stats, fmt.Errorf("journal: %w", err)
		}
		was = is
	}
}

// read loads what is in the folder, and returns which files these are.
func (j *Journal) read(ctx context.Context) (names string, err error) {
	f, err := openFolder(j.dir)
	if err != nil {
		return "", err
	}
	defer f.close()
	names = fmt.Sprint(f.listing)
	if f.foreign != nil {
		return names, f.foreign
	}
	j.stats = Stats{}
	l := j.loader(ctx, f.must)
	l.open = func(path string) (io.ReadSeekCloser, error) { // no further than it went when all were opened
		file, err := f.file(filepath.Base(path))
		if err != nil {
			return nil, missing(path)
		}
		return file, nil
	}
	found, err := j.loadFrom(l, f.listing)
	if err == nil && found.from == 0 {
		err = fmt.Errorf("%s has no journal in it: %w", j.dir, fs.ErrNotExist)
	}
	j.stats.Epoch = found.state.Epoch
	return names, err
}
