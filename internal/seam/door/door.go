// Package door is the way of the packages of this project to databases without the types of their
// tables.
package door

import (
	"context"
	"log/slog"

	"github.com/mvccmap/mvccmap/internal/seam"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A DB is a database. Any number of goroutines may use it.
type DB interface {
	// Describe returns the present tables, indexes, watches and oldest readers, read one after the
	// other. It waits for the making or closing of a table, a refresh of the view, and a round of
	// the watches. It costs a look at each slot, table and watch, and for each index that is not
	// unique a search for each of up to 10,000 index keys.
	Describe() seam.Description
	// Logger returns [mvcc.Options.Logger], nil if there is none.
	Logger() *slog.Logger
	// SparedSnapshot is [mvcc.DB.Snapshot] that Options.MaxTxAge does not concern: for a snapshot
	// that is closed for sure.
	SparedSnapshot() mvcc.DBSnapshot

	// SkipTo makes all later epochs be above to, at most disk.HighestSkip. The epochs passed over are
	// no states, see [mvcc.ErrEpochGone]. It never waits. A load sets through, as it begins to write:
	// then to is no state either, and earlier commits are the last ones looked for after the closing
	// of a journal, see SetJournal, so that it may wait for a logger.
	SkipTo(to uint64, through bool)
	// RequestProgress delivers all commits before the call to all watches of the database and its
	// tables. Each watch with [mvcc.DBWatchOptions].Progress is given a Progress up to there or
	// later. The call waits for the goroutine of the watches, or does its work.
	RequestProgress()
	// HoldExpiry keeps records from expiring until release is called, while tables are brought up
	// to date in steps, where the next step may renew a record. It waits for a deletion under way; in
	// a function of [mvcc.Map.OnExpire] it panics. Several may hold at once. A second call of a
	// release does nothing.
	HoldExpiry() (release func())
	// KeepState keeps the present state of the tables for one [mvcc.DB.Follow] after a position of
	// an earlier life of the database with the same state. Overwritten versions stay in memory until
	// that has begun, or the state is older than Options.MaxTxAge.
	KeepState(after mvcc.Position)
	// SetJournal has [mvcc.DB.Stats] tell how a journal is doing. Several goroutines may call state
	// at once; it must not call Stats.
	//
	// closed has the journal closed, by end. The first later commit, unless it deletes expired
	// records, is an error for Options.Logger, or slog.Default, and one of Stats.JournalFailures;
	// with package mvcctest it fails the test. It is looked for until the next SetJournal, or
	// [mvcc.DB.Close], which has to be called then, and waits for the logger.
	SetJournal(state func() seam.JournalState) (closed func(end func()))

	// Table returns the present table of a name, nil if there is none.
	Table(name string) seam.Table
	// Owns reports whether a snapshot is one of the database. Tables returns the tables that it has,
	// and ClosedTables those of them that were closed at an epoch up to to, in the order of these.
	Owns(s mvcc.DBSnapshot) bool
	Tables(s mvcc.DBSnapshot) []seam.Table
	ClosedTables(s mvcc.DBSnapshot, to uint64) []seam.Table
	// Scan visits the records of a table that a snapshot has; if since is not zero those that were
	// written since that older one, with those that were deleted. It ends when visit returns false.
	Scan(t seam.Table, s, since mvcc.DBSnapshot, visit func(v *seam.Version, deleted bool) bool)
	// Changes visits the tables of a commit, each with its n changes in a []mvcc.Change, and returns
	// the table that was closed by it, or nil.
	Changes(c mvcc.DBCommit, visit func(t seam.Table, changes any, n int)) (closed seam.Table)
	// Load calls fn in a transaction of all tables until it commits, and returns the epoch: if wrote is
	// false that as of which it has read. It waits for the watch that looks for commits after the end of
	// a journal.
	Load(ctx context.Context, fn func(tx mvcc.DBTx)) (epoch uint64, wrote bool, err error)
	// BackupTaken says, for [mvcc.DB.Stats], that a backup is complete.
	BackupTaken()
}

// Of returns the methods of a database that programs need not see.
func Of(db *mvcc.DB) DB { return seam.Door(db).(DB) }
