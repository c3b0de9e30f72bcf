package durable

import (
	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
	"github.com/mvccmap/mvccmap/mvcc"
)

// For tests of backups that go on from each other, as those of a journal do.
var (
	SaveCommits = saveCommits
	LoadCommits = loadCommits
)

func Followed(opts LoadOptions, resume []mvcc.Position) *LoadOptions {
	opts.more, opts.resume = true, resume
	return &opts
}

func (b *Backup) SavedTables() []backupfile.TableHeader { return b.savedTables }
func (b *Backup) Migrated() []string                    { return b.migrated }
func (b *Backup) Missing() error                        { return b.missing() }

func (e *CodecError) IsCurrent() bool { return e.isCurrent() }
