// Package door gives packages of this project access to databases without the types of their
// tables.
package door

import (
	"context"
	"iter"
	"log/slog"

	"github.com/mvccmap/mvccmap/internal/seam"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A DB is a database. Any number of goroutines may use it.
type DB interface {
	// Describe returns the present tables, indexes, watches and oldest readers, read one after the
	// other. It waits for the making or closing of a table, a refresh of the view, and a round of
	// the watches. It looks at each slot, table and watch, and for each index that is not unique
	// searches for each of up to 10,000 index keys.
	Describe() seam.Description
	// Logger returns [mvcc.Options.Logger], nil if there is none.
	Logger() *slog.Logger
	// SparedSnapshot is [mvcc.DB.Snapshot] without Options.MaxTxAge: for a snapshot that is closed
	// for sure.
	SparedSnapshot() mvcc.DBSnapshot

	// SkipTo makes all later epochs be above to, which is at most disk.HighestSkip. The epochs
	// passed over are no states, see [mvcc.ErrEpochGone]. It never waits. A load sets through, as
	// it begins to write: then to is no state either, and only earlier commits are looked for after
	// the closing of a journal, see SetJournal, so that SkipTo may wait for a logger.
	SkipTo(to uint64, through bool)
	// RequestProgress delivers all commits before the call to all watches of the database and its
	// tables. Each watch with [mvcc.DBWatchOptions].Progress gets a Progress of that epoch or a
	// later one. The call waits for the round of the watches under way.
	RequestProgress()
	// WatchIn is [mvcc.DB.Watch] for a loop in a coroutine.
	WatchIn(
		c seam.Coroutine, ctx context.Context, o mvcc.DBWatchOptions,
	) iter.Seq2[mvcc.DBCommit, error]
	// HoldExpiry keeps records from expiring until release is called, while tables are brought up
	// to date in steps, and the next step may renew a record. It waits for a deletion under way; in
	// a function of [mvcc.Map.OnExpire] it panics. Several holds may exist at once. A second call
	// of a release does nothing.
	HoldExpiry() (release func())
	// KeepState keeps the present state of the tables for one [mvcc.DB.Follow] after a position of
	// an earlier life of the database with the same state. Overwritten versions stay in memory
	// until the Follow has begun, or the state is older than Options.MaxTxAge.
	KeepState(after mvcc.Position)
	// SetJournal makes [mvcc.DB.Stats] tell how a journal is doing, by state. Several goroutines
	// may call state at once; it must not call Stats.
	//
	// closed closes the journal, by end. The first later commit that does not only delete expired
	// records is an error for Options.Logger, or slog.Default, and counts in Stats.JournalFailures;
	// with package mvcctest it fails the test. It is looked for until the next SetJournal, or
	// [mvcc.DB.Close], which then has to be called, and waits for the logger.
	SetJournal(state func() seam.JournalState) (closed func(end func()))

	// Table returns the present table of a name, nil if there is none.
	Table(name string) seam.Table
	// Owns reports whether a snapshot is one of the database. Tables returns the tables that it
	// has, and ClosedTables those of them that were closed at an epoch up to to, in that order.
	Owns(s mvcc.DBSnapshot) bool
	Tables(s mvcc.DBSnapshot) []seam.Table
	ClosedTables(s mvcc.DBSnapshot, to uint64) []seam.Table
	// Scan visits the records of a table that snapshot s has; if since, an older snapshot, is not
	// zero, only the records written or deleted since then. It ends when visit returns false.
	Scan(t seam.Table, s, since mvcc.DBSnapshot, visit func(v *seam.Version, deleted bool) bool)
	// Changes visits the tables of a commit, each with its n changes in a []mvcc.Change, and
	// returns the table that the commit has closed, or nil.
	Changes(c mvcc.DBCommit, visit func(t seam.Table, changes any, n int)) (closed seam.Table)
	// Load calls fn in a transaction of all tables until it commits, and returns its epoch: if
	// wrote is false, its read epoch. It waits for the watch that looks for commits after the end
	// of a journal.
	Load(ctx context.Context, fn func(tx mvcc.DBTx)) (epoch uint64, wrote bool, err error)
	// BackupTaken says, for [mvcc.DB.Stats], that a backup is complete.
	BackupTaken()
}

// Of returns the methods of a database that programs need not see.
func Of(db *mvcc.DB) DB { return seam.Door(db).(DB) }
