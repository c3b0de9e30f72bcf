package mvcc

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/epoch"
)

// A Position is a state of a database, for a follower to keep, see [DB.Follow]. After a crash, or
// with older files, epochs come again and mean other states; two Positions that are == mean one
// state. A Position may be kept in any form, such as JSON or gob.
type Position struct {
	// Life is random, 128 bits in hexadecimal digits, for each [NewDB]; durable.Backup.DB is the
	// Life of the saved database.
	Life  string `json:"life"`
	Epoch uint64 `json:"epoch"`
}

// Position returns the position of the database at an epoch of this life that [DB.Follow] has
// given. It never waits, and allocates once.
func (db *DB) Position(epoch uint64) Position { return Position{dbAt(db).life(), epoch} }

// life returns the name of this life of the database.
func (db *database) life() string {
	db.named.Do(func() { db.name = fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()) })
	return db.name
}

// past says which past states can be had, besides those that the versions in memory give.
//
// An epoch that was passed over means no state. A load keeps, if asked to, states of an earlier
// life that it comes through, by their positions in that life.
type past struct {
	mu      sync.Mutex
	states  map[Position][]DBSnapshot
	skipped atomic.Pointer[[]skip] // the epochs that were passed over
}

// A skip is the epochs after above, up to and including to.
type skip struct{ above, to epoch.Epoch }

// skipTo moves the clock to epoch to or above. The epochs in between mean nothing, and neither does
// to if through is set. It returns the number of epochs passed over.
func (s *shared) skipTo(to epoch.Epoch, through bool) (passed uint64) {
	p, last := &s.past, to-1
	if through {
		last = to
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []skip
	if old := p.skipped.Load(); old != nil {
		bound := s.slots.Bound()
		list = slices.DeleteFunc(slices.Clone(*old), func(one skip) bool { return one.to < bound })
	}
	// Readers must know the skip before the clock is there. Epochs that are drawn meanwhile do mean
	// something.
	now := s.slots.Now()
	before := append(slices.Clip(list), skip{now, max(now, last)})
	p.skipped.Store(&before)
	if passed = s.slots.SkipTo(to); passed > 0 {
		list = append(list, skip{to - epoch.Epoch(passed), last})
	}
	p.skipped.Store(&list)
	return passed
}

// unknown says that the states after epoch above, up to epoch to, will never be known. The clock
// has not come to these epochs.
func (p *past) unknown(above, to epoch.Epoch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []skip
	if old := p.skipped.Load(); old != nil {
		list = slices.Clone(*old)
	}
	list = append(list, skip{above, to})
	p.skipped.Store(&list)
}

// hasSkipped reports whether an epoch was passed over.
func (p *past) hasSkipped(at epoch.Epoch) bool {
	list := p.skipped.Load()
	return list != nil && slices.ContainsFunc(*list, func(one skip) bool {
		return one.above < at && at <= one.to
	})
}

func (db door) KeepState(after Position) {
	s, p := db.Snapshot(), &dbAt(db.DB).shared.past
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.states == nil {
		p.states = map[Position][]DBSnapshot{}
	}
	p.states[after] = append(p.states[after], s)
}

// take returns a kept state of a position, and keeps it no longer.
func (p *past) take(at Position) (s DBSnapshot, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.states[at]
	if len(list) == 0 {
		return s, false
	}
	if s, p.states[at] = list[0], list[1:]; len(list) == 1 {
		delete(p.states, at)
	}
	return s, true
}

// resume returns a snapshot of the state of a position, if there still is one. The caller closes
// it.
func (db *DB) resume(at Position) (s DBSnapshot, ok bool) {
	if s, ok = dbAt(db).shared.past.take(at); ok {
		return s, true
	}
	if at.Life != dbAt(db).life() { // its epochs are those of another history
		return s, false
	}
	s, err := db.SnapshotAt(at.Epoch)
	return s, err == nil
}
