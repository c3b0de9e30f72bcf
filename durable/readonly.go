package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/mvcc"
)

// LoadFolder gives the tables the state of the journal in the folder dir, as [Open] does, and no
// more: it writes nothing, takes no lock, and keeps no later commits. The folder may be on a full
// disk, or read-only, and a process may have it open: then the tables get its state on disk of some
// moment during the call, with all that it had acknowledged before. If that process removes a file
// meanwhile, LoadFolder begins anew, and readers see the tables as far as they were loaded.
//
// Of opts, which may be nil, Codec, Version, Versions, Rename, Migrate, AnyShape, Resume and Progress
// count. Of the statistics that it returns Epoch, Loaded and Dropped are set. The error is that of
// Open; it wraps [io/fs.ErrNotExist] if there is no journal in dir. A table may have a
// part of its records by then.
func LoadFolder(ctx context.Context, db *mvcc.DB, dir string, opts *Options) (Stats, error) {
	j := newJournal("LoadFolder", ctx, db, dir, opts)
	defer door.Of(db).HoldExpiry()()
	for was := ""; ; {
		found, is, err := j.load(ctx)
		if err == nil && found.from == 0 {
			err = fmt.Errorf("%s has no journal in it: %w", dir, fs.ErrNotExist)
		}
		if j.stats.Epoch = found.state.Epoch; err == nil {
			return j.stats, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || is == was {
			return j.stats, fmt.Errorf("durable: %w", err)
		}
		was = is
	}
}
