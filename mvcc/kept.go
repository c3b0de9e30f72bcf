package mvcc

import (
	"fmt"
	"log/slog"
	"math"
	"sync"
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

func (db door) BackupTaken() {
	k := &dbAt(db.DB).shared.kept
	k.last.Store(new(time.Now()))
	k.backups.Add(1)
}

func (db door) SkipTo(to uint64, through bool) {
	of := dbAt(db.DB)
	if through {
		of.shared.endUnkept() // a load's records are kept already: a journal may be opened anew
	}
	of.root.counters.Wasted.Add(of.shared.skipTo(epoch.Epoch(to), through))
}

// An unkept is a [listener] that tells of the first commit after the journal was closed, which
// nobody keeps, and then ends.
type unkept struct {
	shared *shared
	closed calls         // of the program, if there is a trial
	told   chan struct{} // is closed when the logger was told

	mu     sync.Mutex
	newest uint64 // the epoch of the last commit, but for those that delete expired records
	kept   uint64 // the epoch up to which the journal has all; MaxUint64 until it has ended
	found  bool
}

func (db door) SetJournal(state func() seam.JournalState) (closed func(end func())) {
	s := dbAt(db.DB).shared
	s.endUnkept()
	s.kept.journal.Store(&state)
	return func(end func()) {
		u := &unkept{shared: s, kept: math.MaxUint64, told: make(chan struct{})}
		if s.strict != nil && s.strict.trial != nil {
			u.closed = programCalls()
		}
		dbAt(db.DB).listenToAll(u) // must precede end: nothing may come between
		s.kept.unkept.Store(u)
		end()
		if s.kept.closed.Load() { // must follow: DB.Close came first
			s.kept.journal.Store(nil)
			s.endUnkept()
			return
		}
		final := state()
		final.Behind = 0
		last := func() seam.JournalState {
			is := final
			if u.hasFound() {
				is.Failures++
			}
			return is
		}
		s.kept.journal.Store(&last)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.kept = final.Epoch
		u.look()
	}
}

// listenToAll begins a listener of all tables.
func (db *database) listenToAll(w listener) {
	db.mu.Lock() // no table is made until it has begun
	defer db.mu.Unlock()
	db.shared.hub.begin(w, db.feedAll, func(uint64) {})
}

// endUnkept lets the unkept look at the commits up to now, and then ends it.
func (s *shared) endUnkept() {
	u := s.kept.unkept.Swap(nil)
	if u == nil {
		return
	}
	s.hub.lastRound(u)
	s.hub.end(u)
	if u.hasFound() {
		<-u.told
	}
}

// lastRound makes a round for a listener that is about to end.
func (h *hub) lastRound(w listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, there := h.listeners[w]; there {
		h.round()
	}
}

func (u *unkept) only() *core { return nil }
func (u *unkept) dropped()    {}

// lose takes the missed epochs for commits.
func (u *unkept) lose() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.newest = uint64(u.shared.slots.Now())
	u.look()
}

func (u *unkept) offer(list []DBCommit) (more bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, c := range list {
		if !c.Expired && c.Closed == "" {
			u.newest = c.Epoch
		}
	}
	return !u.look()
}

// look reports whether there was a commit that nobody keeps. u.mu is held.
func (u *unkept) look() bool {
	if !u.found && u.newest > u.kept {
		u.found = true
		go u.tell(u.newest) // the logger may be one of the user
	}
	return u.found
}

func (u *unkept) hasFound() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.found
}

// tell tells of a commit that nobody keeps.
func (u *unkept) tell(epoch uint64) {
	defer close(u.told)
	what := fmt.Sprintf("a commit after the journal was closed is kept nowhere: the journal ends with "+
		"epoch %d, and the commit has epoch %d", u.kept, epoch)
	if s := u.shared.strict; s != nil && s.trial != nil {
		s.trial.Fail(what+"; the journal was closed", u.closed)
		return
	}
	logger := u.shared.logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.Error("mvcc: " + what)
}
