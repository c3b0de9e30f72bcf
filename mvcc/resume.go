package mvcc

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/epoch"
)

// past says what the epochs of the past mean in this life of a database.
//
// No epoch means two states. So one that was passed over means none: it may have been one of the
// life before. A state of that life which was met when it was loaded is kept, if that was asked
// for, by the epoch that it had then.
type past struct {
	mu     sync.Mutex
	states map[uint64][]DBSnapshot // by the epochs that they had in the life before
	// skipped are the epochs that were passed over; floor is the first one of this life.
	skipped atomic.Pointer[[]skip]
	floor   atomic.Uint64
}

// A skip is the epochs above one, up to another.
type skip struct{ above, to epoch.Epoch }

// skipTo makes the clock be at to, or above: the epochs in between mean nothing, and neither does
// to if through is set. It returns how many were passed over.
func (s *shared) skipTo(to epoch.Epoch, through bool) (passed uint64) {
	p, first := &s.past, to
	last := to - 1
	if through {
		first, last = to+1, to
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
	p.floor.Store(max(p.floor.Load(), uint64(first)))
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
	p.floor.Store(max(p.floor.Load(), uint64(to)+1))
}

// begins says that epochs below at may be of the life before.
func (p *past) begins(at uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.floor.Store(max(p.floor.Load(), at))
}

// hasSkipped reports whether an epoch was passed over.
func (p *past) hasSkipped(at epoch.Epoch) bool {
	list := p.skipped.Load()
	return list != nil && slices.ContainsFunc(*list, func(one skip) bool {
		return one.above < at && at <= one.to
	})
}

// KeepState keeps the present state of the tables for a [DB.Follow] that goes on after an epoch of
// an earlier life of the database. At the end of that life the state was the same. It is for
// programs that load what [DB.SaveCommits] has written; package journal calls it by itself. Each
// call keeps the state for one Follow. What is overwritten meanwhile stays in memory until that
// has begun, or the state is older than [Options.MaxTxAge].
func (db *DB) KeepState(after uint64) {
	s, p := db.Snapshot(), &dbAt(db).shared.past
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.states == nil {
		p.states = map[uint64][]DBSnapshot{}
	}
	p.states[after] = append(p.states[after], s)
}

// take returns a state that was kept.
func (p *past) take(at uint64) (s DBSnapshot, ok bool) {
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

// resume returns a snapshot of what there was at an epoch, if that is to be had. It is closed by
// the caller.
func (db *DB) resume(at uint64) (s DBSnapshot, ok bool) {
	if at == 0 {
		return s, false
	}
	p := &dbAt(db).shared.past
	if s, ok = p.take(at); ok {
		return s, true
	}
	if at < p.floor.Load() {
		return s, false
	}
	s, err := db.SnapshotAt(at)
	return s, err == nil
}
