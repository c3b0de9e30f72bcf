package mvcc

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/disk"
)

// kept is what [Stats] tells of the copies of a database that are kept elsewhere.
type kept struct {
	backups atomic.Uint64
	last    atomic.Pointer[time.Time] // when a backup was complete
	journal atomic.Pointer[func() JournalState]
	unkept  atomic.Pointer[unkept] // if the journal was closed
	closed  atomic.Bool            // the database was
}

// saved notes a complete backup.
func (k *kept) saved() {
	now := time.Now()
	k.last.Store(&now)
	k.backups.Add(1)
}

// describe sets what s tells of copies.
func (k *kept) describe(s *Stats) {
	s.Backups = k.backups.Load()
	if last := k.last.Load(); last != nil {
		s.BackupAge = time.Since(*last)
	}
	if state := k.journal.Load(); state != nil {
		is := (*state)()
		s.JournalLag = max(s.Epoch, is.Epoch) - is.Epoch
		s.JournalBehind, s.JournalFailures, s.JournalRefused = is.Behind, is.Failures, is.Refused
	}
}

// A JournalState says how a journal is doing, see [DB.SetJournal].
type JournalState struct {
	// Epoch is the one up to which all commits are kept, and Behind for how long something has
	// waited to be.
	Epoch  uint64
	Behind time.Duration
	// Failures counts failed writes, and Refused the records that the codec has refused.
	Failures, Refused uint64
}

// Logger returns [Options.Logger], nil if there is none.
func (db *DB) Logger() *slog.Logger {
	dbAt(db) // panics for a zero DB
	return dbAt(db).opts.Logger
}

// SkipTo makes all later epochs be above to, as [DB.Load] and package journal do with the newest
// one of the last life. The epochs passed over are no states, see [ErrEpochGone]. It never waits.
// It panics if to is above 1<<51.
func (db *DB) SkipTo(to uint64) {
	if to > disk.HighestSkip {
		panic(fmt.Sprintf("mvcc: SkipTo: %d is above %d", to, uint64(disk.HighestSkip)))
	}
	dbAt(db).skipTo(to, false)
}

// skipTo is SkipTo; if through is set to was passed over too.
func (db *database) skipTo(to uint64, through bool) {
	db.root.counters.Wasted.Add(db.shared.skipTo(epoch.Epoch(to), through))
}
