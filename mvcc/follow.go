package mvcc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/epoch"
)

// FollowOptions configures [DB.Follow].
type FollowOptions struct {
	// After is the position of the follower's state. For a Position of another life or database
	// Follow calls begin, unless package durable keeps the database and has met that state.
	After Position

	// Buffer is as [WatchOptions.Buffer].
	Buffer int

	_ struct{}
}

// Follow keeps a follower of the tables in step with them, such as a cache, a search index or a
// copy elsewhere. It calls begin with a snapshot, from which the follower is made anew, and then
// apply for each commit after it: in the order of the epochs, each once and whole. It blocks until
// ctx has ended, or begin or apply returns an error.
//
// The commits made while begin was at work come first, in one [DBCommit.Summary]. Writers do not
// wait. If more than Buffer changes wait for apply, there is a gap: with [Options.Retain] a summary
// follows, without it begin is called again.
//
// A follower may keep the [DB.Position] of the last epoch, together with its own state, for
// FollowOptions.After of a later call, which begins with a summary of the commits since. In the
// same process this needs Options.Retain; after a restart, Options.Resume of package durable. Where
// that state is gone, begin is called. A commit whose apply has failed comes again: each is applied
// once if the follower keeps its position in one step with apply, and otherwise at least once.
//
// The calling goroutine calls begin and apply, which may read and write the tables. The snapshot is
// open until begin returns. Later tables are included. [DBCommit.Closed] tells of closed tables;
// closings before a summary come first, with the epoch of the follower's state.
//
// Follow returns the error of begin or apply, unchanged; an error that wraps ctx's error and its
// cause; or [ErrTxTooOld] if begin took longer than MaxTxAge. [DB.Close] does not end it. It costs
// as much as [DB.Watch] with Since.
func (db *DB) Follow(
	ctx context.Context, opts *FollowOptions,
	begin func(s DBSnapshot) error, apply func(c DBCommit) error,
) error {
	checkContext("Follow", ctx)
	dbAt(db) // panics for a zero DB
	f := following{db: db, ctx: ctx, begin: begin, apply: apply}
	if opts != nil {
		f.at, f.buffer = opts.After, opts.Buffer
	}
	switch {
	case begin == nil:
		panic("mvcc: Follow: begin is nil")
	case apply == nil:
		panic("mvcc: Follow: apply is nil")
	case f.buffer < 0:
		panic(fmt.Sprintf("mvcc: Follow: FollowOptions.Buffer is %d, want 0 or more", f.buffer))
	}
	for {
		if err := f.toGap(); err != nil {
			return err
		}
	}
}

// A following is a call of Follow.
type following struct {
	db     *DB
	ctx    context.Context
	buffer int
	begin  func(s DBSnapshot) error
	apply  func(c DBCommit) error
	at     Position // of the follower's state, zero if it has none
}

// toGap follows up to a gap, or returns why there is nothing more to follow.
func (f *following) toGap() error {
	loop, err := f.watch()
	if err != nil || loop == nil {
		return err
	}
	loop.all(func(c DBCommit, failed error) bool {
		switch {
		case errors.Is(failed, ErrGap):
			return false
		case failed != nil:
			err = endOf(f.ctx)
			return false
		}
		if err = f.apply(c); err != nil {
			return false
		}
		f.at = f.db.Position(c.Epoch)
		return true
	})
	return err
}

// watch returns a watch since the follower's state. If that state is gone, begin makes a new one
// first. watch returns nil, and no error, if it is to be called again.
func (f *following) watch() (loop *watchLoop, err error) {
	if f.ctx.Err() != nil {
		return nil, endOf(f.ctx)
	}
	s, resumed := f.db.resume(f.at)
	if !resumed {
		s = f.db.Snapshot()
	}
	defer s.Close()
	err = s.Try(func() error {
		if !resumed {
			if err := f.begin(s); err != nil {
				return err
			}
		}
		f.at = f.db.Position(s.Epoch()) // of this life, also if it was one of another
		return nil
	})
	if err == nil {
		loop, err = f.since(s)
	}
	if err == ErrTxTooOld && resumed {
		f.at = Position{}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// A closing gets the epoch of the follower's state: the changes before the closing are in the
	// summary after it, which the follower has yet to see.
	for i := range loop.s.first {
		if c := &loop.s.first[i]; c.closed != nil {
			c.Epoch = f.at.Epoch
		}
	}
	return loop, nil
}

// since returns a watch since s, or ErrTxTooOld if s is evicted meanwhile.
func (f *following) since(s DBSnapshot) (loop *watchLoop, err error) {
	defer func() {
		p := recover()
		if e, ok := p.(error); ok && errors.Is(e, ErrTxTooOld) {
			loop, err = nil, ErrTxTooOld
		} else if p != nil {
			panic(p)
		}
	}()
	return watchAll(f.ctx, f.db, DBWatchOptions{Since: s, Buffer: f.buffer}), nil
}

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
// An epoch that was passed over means no state. A load keeps, if asked to, the states of an earlier
// life that it passes through, by their positions in that life.
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
