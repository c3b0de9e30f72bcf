// Package door is the way of the packages of this project to databases without the types of their
// tables.
package door

import (
	"context"
	"io"
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

	// SkipTo makes all later epochs be above to, as [mvcc.DB.Load] does with the newest one of the
	// last life. The epochs passed over are no states, see [mvcc.ErrEpochGone]. It never waits. It
	// panics if to is above 1<<51.
	SkipTo(to uint64)
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

	// SaveCommits writes commits of [mvcc.DB.Watch] as a backup of differences: all commits from
	// after on, in their order; the last one may be a Progress. It returns after for the next call;
	// of the first one Epoch is enough. Only the tables that have changed, or were closed, are named
	// in it. Of opts Version, Progress and Refused count. For the rest it is as [mvcc.DB.Save],
	// without a snapshot.
	SaveCommits(ctx context.Context, w io.Writer, codec mvcc.Codec, after mvcc.Backup,
		commits []mvcc.DBCommit, opts *mvcc.SaveOptions) (mvcc.Backup, error)
	// LoadCommits is [mvcc.DB.Load] of a backup of differences alone, to the backup after, which an
	// earlier Load or LoadCommits has returned; it returns after for the next call. If the
	// differences are of another life of the database, DB and Epoch of after name its state there;
	// the first ones name all tables. It does not check that nobody else writes to the copy. Migrated
	// tables go on as they have begun, with the same Rename. If it fails Load has to begin anew.
	LoadCommits(ctx context.Context, r io.Reader, codec mvcc.Codec, after mvcc.Backup,
		opts *mvcc.LoadOptions) (mvcc.Backup, error)
	// Followed returns options for a Load that LoadCommits follow: a table that does not fit is
	// passed over, as it may have been closed, and Missing tells of it in the end. resume are
	// positions from which [mvcc.DB.Follow] is to go on, each as often as it does: the loads keep the
	// state of each that they meet, see KeepState, in a transaction of its own, which others see: of
	// the backup, of all differences, and of each commit of differences by SaveCommits, but not
	// where a table was closed, or is migrated by [mvcc.MigrateTo]. If one fails those before it
	// stay.
	Followed(opts mvcc.LoadOptions, resume []mvcc.Position) *mvcc.LoadOptions
	// SavedTables returns the tables of a backup.
	SavedTables(b mvcc.Backup) []seam.Table
	// Missing returns one error for all tables that were loaded and passed over, with the Migrations
	// of other tables that have applied to nothing; nil if there are none.
	Missing(loaded mvcc.Backup) error
	// Migrated returns the saved names of the tables that were migrated or renamed as they were
	// loaded, or whose types have other shapes: a program with the types of the backup cannot load
	// later saves of them.
	Migrated(loaded mvcc.Backup) []string
	// Matches reports whether a snapshot sees exactly the loaded backup, in tables of the same names
	// and types, and no other ones, so that later commits can be saved as differences to it. It is
	// false if there may have been writes since the load began. It costs a look at each table.
	Matches(loaded mvcc.Backup, s mvcc.DBSnapshot) bool
	// Current reports whether the table still has a refused record: the key was not written since,
	// and the table not closed. It is a read like [mvcc.Map.Load].
	Current(e *mvcc.CodecError) bool
}

// Of returns the methods of a database that programs need not see.
func Of(db *mvcc.DB) DB { return seam.Door(db).(DB) }
