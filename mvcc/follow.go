package mvcc

import (
	"context"
	"errors"
	"fmt"
)

// FollowOptions configures [DB.Follow]. A nil *FollowOptions, and every field that is zero, means
// the default.
type FollowOptions struct {
	// After is the position of the state that the follower has: [DB.Position] of the epoch that an
	// earlier call has given last, to begin or apply. It may be one of an earlier life of the
	// database, or of another one: then begin is called, unless package journal keeps the database
	// and has met that state. Default: it has none.
	After Position

	// Buffer is how many changes may wait while apply is at work, see [WatchOptions.Buffer].
	Buffer int

	_ struct{}
}

// Follow keeps something that is derived from the tables in step with them, such as a cache, a
// search index or a copy elsewhere. It calls begin with a snapshot, from which the follower is
// made anew. Then it calls apply for each commit after that snapshot: in the order of the epochs,
// each once and whole, without a hole. It blocks until ctx has ended, or begin or apply returns an
// error. opts may be nil.
//
//	err := db.Follow(ctx, nil, func(s mvcc.DBSnapshot) error {
//		return search.Rebuild(users.At(s).All())
//	}, func(c mvcc.DBCommit) error {
//		return search.Apply(users.Changes(c))
//	})
//
// What was committed while begin was at work comes first, in one: a [DBCommit.Summary]. Writers do
// not wait for begin or apply. If apply is so slow that more than Buffer changes wait, there is a
// gap. With [Options.Retain] Follow then goes on with a summary of what was missed. Without it,
// Follow calls begin again, with a new snapshot. So a follower is never wrong, but one that is
// always too slow is often made anew. [Stats] counts these gaps as any others.
//
// A follower may keep the position that it has got to, together with what it has made of it: that
// of the epoch of the snapshot of begin, or of the commit of apply, see [DB.Position]. Then a later
// call goes on from there, see FollowOptions.After. The first commit is a summary of what came after
// that. In the same process this needs Options.Retain. After a restart it needs that Options.Resume
// of package journal has named the position. Follow calls begin if it cannot have that state, say
// because the machine failed before it was on disk, or because older files were put back. A call
// that fails in the middle of apply is repeated. So each commit is applied once if the follower
// keeps its position in one step with what apply does, and otherwise at least once.
//
// The goroutine that calls Follow calls begin and apply, one after the other, with nothing locked.
// They may read and write the tables, and Follow tells of what they write as well. The snapshot is
// open until begin returns; [Options.MaxTxAge] counts. With Options.Retain [DB.SnapshotAt] gives a
// snapshot of the epoch of a commit; without, a snapshot is of that epoch or a later one. Follow
// includes tables that are made later, and tells by [DBCommit.Closed] that one was closed. If a
// call begins with a summary, the closings that the summary covers come before it, with the epoch
// of the state that the follower has.
//
// Follow returns the error of begin or apply, unchanged. If ctx has ended before a call, it
// returns an error that wraps ctx's error and its cause. If begin took longer than MaxTxAge, it
// returns [ErrTxTooOld]. ctx does not interrupt begin or apply. If they panic or call
// runtime.Goexit the watch and the snapshot end, and the panic goes on. [DB.Close] does not end
// Follow. It costs what [DB.Watch] with Since does, and allocates some objects more. Any number of
// goroutines may follow a database.
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
	at     Position // that of the state that the follower has, zero if it has none
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

// watch returns a watch since the state that the follower has, which begin has made if need be. It
// returns nil if it is to be called again.
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
	// The changes before a closing are in the summary after it: a follower that has got to the
	// closing alone has not got further.
	for i := range loop.s.first {
		if c := &loop.s.first[i]; c.closed != nil {
			c.Epoch = f.at.Epoch
		}
	}
	return loop, nil
}

// since returns a watch since s, or ErrTxTooOld if that is evicted meanwhile.
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
