package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mvccmap/mvccmap/internal/seam/replicate"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Update calls fn with a transaction over the tables, which reads the state that this process has
// applied, and commits its writes in etcd, if nothing that it has read was written meanwhile by any
// process; otherwise it waits until this process has applied the commit that was in the way, and
// calls fn again, up to MaxAttempts times. So transactions that write are strictly
// serializable over all processes, however far behind the process is. One that writes nothing has
// the promises of [DB.View], and asks nobody; and so does one whose function returns an error,
// which Update returns unchanged, or that a unique index does not allow: see [Fresh].
//
// When Update returns nil, this process has applied the commit: reads afterwards include it; unless
// ctx ended, or the replica failed, after the commit. The functions given to OnCommit are called
// with the revision. fn uses tables through [Table.In], and must not commit or roll back. Merge is
// not a read: if that was all that fn did but blind writes, it runs once. Transactions with a
// Merge, or that read nothing, go to etcd together, so those of a process never conflict over
// merged keys. The goroutines of a process that read and write the same key commit in the order in
// which they have come to it, where the one before does not keep them for longer than
// [Config.RequestTimeout]; among processes that is chance.
//
// Every other error but [ErrOutcomeUnknown] says that nothing was committed, now or later: a
// [*ConflictError]; a [*TooLargeError] or [*CodecError]; a [*mvcc.UniqueError]; that of ctx, its
// cause; [ErrNoSpace], [ErrUnanswered], and the errors of etcd for requests that are not allowed;
// and that of [DB.Err]. A process that is cut off learns that within [Config.RequestTimeout] and
// ResolveTimeout. After ctx has ended Update goes on for up to [Config.ResolveTimeout] if it has to
// find out the outcome of a request.
//
// opts may be nil. Its MaxAttempts is [Config.MaxAttempts] by default; Isolation has no meaning, for
// every transaction is serializable. [mvcc.Options.Observe] and [mvcc.Options.Around] are told of
// Name, if [NewSchema] was given them. Observe is told of each attempt: of one that others were in
// the way of with a [*ConflictError], when the replica has applied their writes, and of one that
// was not answered with an [ErrUnanswered]. A transaction that has read nothing is one attempt,
// however often it is sent.
func (db *DB) Update(ctx context.Context, opts *mvcc.TxOptions, fn func(tx mvcc.DBTx) error) error {
	var own mvcc.TxOptions
	if opts != nil {
		own = *opts
	}
	switch own.MaxAttempts = cmp.Or(own.MaxAttempts, db.cfg.MaxAttempts); {
	case ctx == nil:
		panic("etcd: Update: ctx is nil, want context.Background() or another one")
	case fn == nil:
		panic("etcd: Update: fn is nil")
	case own.MaxAttempts < 0:
		panic(fmt.Sprintf("etcd: TxOptions.MaxAttempts is %d, want 0 or more", own.MaxAttempts))
	}
	return db.observed(ctx, own, fn)
}

func (db *DB) update(
	ctx context.Context, seen *observation, most int, fn func(tx mvcc.DBTx) error,
) error {
	var at *place // in the line
	var last *replicate.Work
	var lost losses
	defer func() { db.line.leave(at) }()
	for attempt := range most {
		if err := db.goOn(ctx); err != nil {
			return err
		}
		seen.begin()
		w, err := db.attempt(ctx, fn)
		if err != nil {
			return err
		}
		if w.Writes() == 0 {
			seen.committed(w.Epoch)
			committed(w.OnCommit, w.Epoch)
			return nil
		}
		if w.Blind { // it has no place: it goes with others
			db.line.leave(at)
			at = nil
		}
		foot, err := db.footprint(w)
		if err != nil {
			return err
		}
		var o outcome
		switch {
		case !w.Blind && db.turn(ctx, w, &at, foot, attempt > 0):
			o = outcome{conflict: true, rev: db.applied.now()}
		case w.Blind || w.Merges():
			o, err = db.blind.commit(ctx, db, w, foot, most)
		default:
			o, err = db.commitOne(ctx, w)
		}
		if err != nil {
			return err
		}
		if o.committed {
			db.figures.commits.Add(1)
			seen.committed(o.rev)
			err := db.come(ctx, o.rev)
			db.line.leave(at) // after that: Q2; and before OnCommit, which may wait for others
			at = nil
			committed(w.OnCommit, o.rev) // the commit stands
			if errors.Is(err, ErrUnanswered) {
				known := &UnknownError{committed: true, settled: make(chan struct{})}
				close(known.settled)
				return fmt.Errorf("%w: it was committed at revision %d, and what is read here may be older, "+
					"since then: %v", known, o.rev, err)
			}
			return nil
		}
		lost.add(o)
		last = w
		seen.stop()
		if err := db.overtaken(ctx, o); err != nil {
			return err
		}
		if attempt+1 == most {
			break
		}
		seen.lost(db, w, o) // must follow: the commit in the way is known by now
		if err := db.pause(ctx, attempt); err != nil {
			return err
		}
	}
	return db.giveUp(last, lost, most)
}

// losses are the outcomes of the attempts of a transaction.
type losses struct {
	newest     uint64
	conflict   bool  // one was refused
	unanswered error // why the last one that was not answered was not
}

func (l *losses) add(o outcome) {
	l.newest = max(l.newest, o.rev)
	l.conflict = l.conflict || o.conflict
	if o.unanswered != nil {
		l.unanswered = o.unanswered
	}
}

// giveUp returns the error of a transaction that is given up after some attempts.
func (db *DB) giveUp(w *replicate.Work, lost losses, attempts int) error {
	if !lost.conflict && lost.unanswered != nil {
		return fmt.Errorf("%w, in %d attempts: %w", ErrUnanswered, attempts, lost.unanswered)
	}
	e := &ConflictError{Attempts: attempts, Revision: lost.newest}
	for i := range w.Tables {
		t := &w.Tables[i]
		if key := db.schema.tables[t.Name].changed(db.hooks, t.Reads, t.Epochs); key != nil {
			e.Table, e.Key = t.Name, key
			return e
		}
		if t.All || len(t.Ranges)+len(t.Indexes) > 0 {
			e.Table = t.Name
		}
	}
	return e
}

// goOn returns why nothing can be tried.
func (db *DB) goOn(ctx context.Context) error {
	if err := db.applied.err(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ended(ctx)
	}
	return nil
}

// overtaken waits until the commit that was in the way is applied: a transaction that reads the
// same again conflicts again.
func (db *DB) overtaken(ctx context.Context, o outcome) error {
	if o.conflict {
		db.figures.conflicts.Add(1)
	}
	return db.come(ctx, o.rev)
}

// pause waits before the next attempt, after several conflicts, for a random time.
func (db *DB) pause(ctx context.Context, attempt int) error {
	if attempt < 2 {
		return nil
	}
	longest := time.Millisecond << min(attempt, 4) // the rivals are other processes, few at a time
	select {
	case <-time.After(rand.N(longest)):
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// commitOne commits one transaction.
func (db *DB) commitOne(ctx context.Context, w *replicate.Work) (outcome, error) {
	r, err := db.request(w)
	if err != nil {
		return outcome{}, err
	}
	if err := db.goOn(ctx); err != nil { // it may have waited for its turn
		return outcome{}, err
	}
	s, err := db.slots.take(ctx)
	if err != nil {
		return outcome{}, err
	}
	defer func() { db.slots.give(s) }()
	return db.commit(ctx, &s, r)
}

// committed calls the functions given to OnCommit. If a function panics, or calls runtime.Goexit,
// those after it are called before that goes on; the panics of these are lost.
func committed(after []func(uint64), rev uint64) {
	called := 0
	defer func() {
		if called < len(after) {
			defer func() { _ = recover() }()
			committed(after[called:], rev)
		}
	}()
	for called < len(after) {
		f := after[called]
		called++
		f(rev)
	}
}

// unresolved reports whether an error leaves the outcome of a commit open.
func unresolved(err error) bool { return errors.Is(err, ErrOutcomeUnknown) }
