package mvcc

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/seam"
)

// kept has the figures of [Stats] about the copies of a database that are kept elsewhere.
type kept struct {
	backups atomic.Uint64
	last    atomic.Pointer[time.Time] // when a backup was complete
	journal atomic.Pointer[func() seam.JournalState]
	unkept  atomic.Pointer[unkept] // if the journal was closed
	closed  atomic.Bool            // the database was closed
}

// saved notes a complete backup.
func (k *kept) saved() {
	now := time.Now()
	k.last.Store(&now)
	k.backups.Add(1)
}

// describe sets the figures of s about copies.
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

func (db door) Logger() *slog.Logger { return dbAt(db.DB).opts.Logger }

func (db door) BackupTaken() { dbAt(db.DB).shared.kept.saved() }

func (db door) SkipTo(to uint64, through bool) {
	of := dbAt(db.DB)
	if through {
		of.shared.endUnkept() // a load's records are kept already: a journal may be opened anew
	}
	of.root.counters.Wasted.Add(of.shared.skipTo(epoch.Epoch(to), through))
}
