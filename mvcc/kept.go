package mvcc

import (
	"sync/atomic"
	"time"
)

// kept is what [Stats] tells of the copies of a database that are kept elsewhere.
type kept struct {
	backups atomic.Uint64
	last    atomic.Pointer[time.Time] // when a backup was complete
	journal atomic.Pointer[func() (uint64, time.Duration, uint64)]
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
		var on uint64
		on, s.JournalBehind, s.JournalFailures = (*state)()
		s.JournalLag = max(s.Epoch, on) - on
	}
}

// SetJournal has [DB.Stats] tell how a journal is doing, or nothing any more if state is nil. It is
// for programs that keep what [DB.Watch] gives; package journal calls it by itself. state returns
// the epoch up to which all commits are kept, for how long something has waited to be, 0 if nothing
// has, and how often something could not be written. It may be called by several goroutines at
// once, and must not call Stats.
func (db *DB) SetJournal(state func() (epoch uint64, behind time.Duration, failures uint64)) {
	if state == nil {
		db.base().shared.kept.journal.Store(nil)
		return
	}
	db.base().shared.kept.journal.Store(&state)
}
