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
// with older files, epochs come again and mean other states; two Positions that are == are one
// state. Keep it in any form, such as JSON or gob.
type Position struct {
	// Life is random, 128 bits in hexadecimal digits, for each [NewDB]; durable.Backup.DB is that of the
	// saved database.
	Life  string `json:"life"`
	Epoch uint64 `json:"epoch"`
}

// Position returns the position of the database at an epoch of this life, as [DB.Follow] has given
// it. It never waits, and allocates once.
func (db *DB) Position(epoch uint64) Position { return Position{dbAt(db).life(), epoch} }

// life returns the name of this life of the database.
func (db *database) life() string {
	db.named.Do(func() { db.name = fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()) })
	return db.name
}

// past says which states of the past can be had, beside those that the versions in memory have.
//
// An epoch that was passed over means no state. A state of an earlier life that was met when it was
// loaded is kept, if that was asked for, by the position that it had then.
type past struct {
	mu      sync.Mutex
	states  map[Position][]DBSnapshot
	skipped atomic.Pointer[[]skip] // the epochs that were passed over
}

// A skip is the epochs above one, up to another.
type skip struct{ above, to epoch.Epoch }

// skipTo makes the clock be at to, or above: the epochs in between mean nothing, and neither does
// to if through is set. It returns how many were passed over.
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
	// It must be known before the clock is there. Epochs may be drawn meanwhile: these mean
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

// unknown says that the states of epochs above one, up to another, to which the clock has not come,
// will never be known.
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

// take returns a state that was kept.
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

// resume returns a snapshot of the state of a position, if that is to be had. It is closed by the
// caller.
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
