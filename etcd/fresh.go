package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mvccmap/mvccmap/internal/seam/replicate"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Sync waits until this process has applied all that had been committed, by any process, when Sync
// was called. It returns the revision of the newest of these commits. It asks etcd once, for all
// goroutines that wait, and returns the error of ctx, or of that request, [ErrUnanswered] if that
// is not answered within [Config.RequestTimeout]. So a View after Sync sees the commits of other
// processes before it, and Sync before an Update spares that an attempt.
func (db *DB) Sync(ctx context.Context) (revision uint64, err error) {
	if err := db.applied.err(); err != nil {
		return 0, err
	}
	if revision, _, err = db.barrier.pass(ctx, db); err != nil {
		return 0, err
	}
	return revision, db.come(ctx, revision)
}

type fresh struct{}

// Fresh returns a context under which a [DB.Update] that writes nothing, or returns an error of its
// function or of a unique index, has read all commits, of any process, before the call of Update.
// After the function Update calls [DB.Sync] then, which costs a round trip, and calls the function
// once more if this process was behind. It returns the error of Sync. An Update that writes has no
// further round trip.
func Fresh(ctx context.Context) context.Context { return context.WithValue(ctx, fresh{}, true) }

// attempt is one attempt of a transaction, and does what [Fresh] says.
func (db *DB) attempt(ctx context.Context, fn func(tx mvcc.DBTx) error) (*replicate.Work, error) {
	at := db.applied.now()
	w, err := db.hooks.Attempt(fn)
	if ctx.Value(fresh{}) == nil || err == nil && w.Writes() > 0 {
		return w, err
	}
	newest, failed := db.Sync(ctx)
	switch {
	case failed != nil:
		return nil, failed
	case newest > at:
		return db.hooks.Attempt(fn)
	}
	return w, err
}

// WaitFor waits until this process has applied all that was committed up to a revision: one that
// [mvcc.DBTx.OnCommit], Sync or Epoch has told of, here or in another process. It returns at once
// if it has. Otherwise it asks etcd now and then, since nothing need have been committed at the
// revision itself: [DB.Epoch] may stay below it then. It returns the error of ctx, or that of
// [DB.Err]; while etcd does not answer, or has not come to the revision, it goes on to wait.
func (db *DB) WaitFor(ctx context.Context, revision uint64) error {
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		some, cancel := context.WithTimeout(ctx, pause)
		err := db.applied.wait(some, revision)
		cancel()
		switch failed := db.applied.err(); {
		case err == nil:
			return nil
		case failed != nil:
			return failed
		case ctx.Err() != nil:
			return ended(ctx)
		}
		if newest, at, err := db.barrier.pass(ctx, db); err == nil && at >= revision {
			if err := db.come(ctx, newest); !errors.Is(err, ErrUnanswered) {
				return err
			}
		}
	}
}

// newest asks for the revision of the newest commit there is, of any process, and for that which
// the cluster is at, which others may have written.
func (db *DB) newest(ctx context.Context) (rev, at uint64, err error) {
	resp, err := db.get(ctx, db.keys.allGuards(), db.keys.newest()...)
	if err != nil {
		return 0, 0, err
	}
	return guardedAt(resp.Kvs), uint64(resp.Header.Revision), nil
}

// A barrier asks for the newest commit. Those that wait share requests, but each gets the answer to
// a request that was sent after its own call of pass had begun.
type barrier struct {
	mu   sync.Mutex
	next *asked // that has not been sent, or nil
	busy bool   // one is on its way
}

type asked struct {
	done chan struct{}
	rev  uint64 // of the newest commit
	at   uint64 // which the cluster is at
	err  error
}

func (b *barrier) pass(ctx context.Context, db *DB) (rev, at uint64, err error) {
	b.mu.Lock()
	if b.next == nil {
		b.next = &asked{done: make(chan struct{})}
	}
	mine := b.next
	if !b.busy {
		b.busy = true
		go b.run(db) // it ends soon after the database
	}
	b.mu.Unlock()
	select {
	case <-mine.done:
		if failed := db.applied.err(); mine.err != nil && failed != nil {
			return 0, 0, failed
		}
		if unanswered(mine.err) { // by a context of its own
			return 0, 0, fmt.Errorf("%w: %v", ErrUnanswered, mine.err)
		}
		return mine.rev, mine.at, mine.err
	case <-db.applied.endedAt:
		return 0, 0, db.applied.err()
	case <-ctx.Done():
		return 0, 0, ended(ctx)
	}
}

// run sends requests as long as anybody waits.
func (b *barrier) run(db *DB) {
	for {
		b.mu.Lock()
		now := b.next
		b.next, b.busy = nil, now != nil
		b.mu.Unlock()
		if now == nil {
			return
		}
		now.rev, now.at, now.err = db.newest(db.ctx)
		close(now.done)
	}
}
