package etcd

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Whether a request was applied is not known if no answer comes; and it may be applied later than
// anybody would wait. So each commit puts a key of its process, a slot, that no other commit uses
// meanwhile, and compares that the slot is as it was. If there is no answer another request puts
// the slot, under the same condition. One of the two is applied, and the other one never will be:
// the slot says which.
//
//   - O1: a slot is put only under the condition that it was put last at the revision that its
//     owner knows. So all requests that were sent for one state of it exclude each other.
//   - O2: its owner sends nothing else before it knows the outcome.
//   - O3: a slot is deleted when its process closes, or knew its outcome late, or has not put it for
//     very long, see janitor.go, and never made anew: a request that comes later finds nothing,
//     which is no state that it compares with. An owner that finds its slot gone before that, or
//     older than it was, knows that the cluster has lost commits.
//   - O4: a commit that can be applied only once, since it puts a record that it compares, could do
//     without putting its slot, and have the history of a guard tell its outcome. That was built
//     and measured: a commit took as long as before, and nobody could tell once the history was
//     compacted.
//   - O5: each commit compares that the guard that was put last, as far as the replica has seen, is
//     not older than that: after the cluster went back it has no effect, until that has got as far
//     again.
//   - O6: a request that is refused may still come again, if somebody on the way repeats it. Where
//     it compares guards, or the revisions of records, it is refused again. A record that is absent
//     may have gone meanwhile: so a request that compares that puts its slot if it is refused. A
//     request that a server answers with a definite error is not guarded like that.
type slot struct {
	name string
	last int64     // the revision at which it was put last
	seq  int       // counts the commits
	put  time.Time // before it was put last
	sent time.Time // before the commit that is under way was sent
}

// at says at which revision the slot was put last.
func (s *slot) at(rev int64) { s.last, s.put = rev, s.sent }

// The values of a slot; the number of the commit follows the latter two.
const (
	sayNew    = "new"
	sayCommit = "commit "
	sayFence  = "fence "
)

// says is the value of the slot once its present commit is applied.
func (s *slot) says() string { return fmt.Sprint(sayCommit, s.seq) }

// fence is the write that excludes its present commit.
func (s *slot) fence() clientv3.Op { return clientv3.OpPut(s.name, fmt.Sprint(sayFence, s.seq)) }

// slots are those of a process.
type slots struct {
	db   *DB
	room chan struct{} // one element for each commit under way

	mu   sync.Mutex
	idle []*slot
	made int
}

func (s *slots) init(db *DB) { s.db, s.room = db, make(chan struct{}, db.cfg.MaxInFlight) }

// take waits for room, and returns a slot, which give takes back.
func (s *slots) take(ctx context.Context) (*slot, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	s.db.figures.inFlight.Add(1)
	one := s.unused()
	if one.last == 0 {
		if err := s.make(ctx, one); err != nil {
			s.give(one)
			return nil, err
		}
	}
	return one, nil
}

// unused returns a slot that nobody uses. It is still to be put if its last is 0.
func (s *slots) unused() *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := len(s.idle); n > 0; n = len(s.idle) {
		one := s.idle[n-1]
		if s.idle = s.idle[:n-1]; !one.idle(s.db) { // J3
			return one
		}
		s.db.workers.Go(func() { s.db.abandon(one.name) }) // Close waits for the caller first
	}
	s.made++
	now := time.Now()
	return &slot{name: fmt.Sprint(s.db.keys.slots(), s.db.self, "/", s.made, "/", s.db.cfg.SlotAge),
		put: now, sent: now}
}

// enter waits for room. A process that is cut off gives up.
func (s *slots) enter(ctx context.Context) error {
	for {
		select {
		case s.room <- struct{}{}:
			return nil
		case <-time.After(s.db.bound()):
			if err := s.db.cutOff(); err != nil {
				return err
			}
		case <-ctx.Done():
			return ended(ctx)
		case <-s.db.applied.endedAt:
			return s.db.applied.err()
		}
	}
}

// give takes a slot back. It is nil if it must not be used again.
func (s *slots) give(one *slot) {
	if one != nil {
		s.mu.Lock()
		s.idle = append(s.idle, one)
		s.mu.Unlock()
	}
	s.db.figures.inFlight.Add(-1)
	<-s.room
}

// make puts a slot for the first time. It may be asked for that again and again. A process that is
// cut off gives up: before it asks for the second time, if nothing was answered for long.
func (s *slots) make(ctx context.Context, one *slot) error {
	limit := s.db.bound()
	if s.db.cutOff() != nil {
		limit = s.db.cfg.RequestTimeout
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	absent := clientv3.Compare(clientv3.ModRevision(one.name), "=", 0)
	err := s.db.again(within, func() error {
		resp, err := s.db.txn(within, []clientv3.Cmp{absent}, []clientv3.Op{clientv3.OpPut(one.name, sayNew)},
			[]clientv3.Op{clientv3.OpGet(one.name)})
		switch {
		case isRPC(err, rpctypes.ErrNoSpace):
			return ErrNoSpace
		case err != nil:
			return err
		case resp.Succeeded:
			one.at(resp.Header.Revision)
		default:
			one.at(resp.Responses[0].GetResponseRange().Kvs[0].ModRevision)
		}
		return nil
	})
	if err != nil && within.Err() != nil && ctx.Err() == nil && s.db.applied.err() == nil {
		return fmt.Errorf("%w: %v", ErrUnanswered, err) // which was for its own context
	}
	return err
}

// drain waits until no commit is under way, and deletes the slots.
func (s *slots) drain() {
	for range cap(s.room) {
		s.room <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(s.db.ctx, time.Second)
	defer cancel()
	for _, one := range s.idle {
		if _, err := s.db.client.Delete(ctx, one.name); err != nil {
			return // it stays, and does no harm
		}
	}
}

// again calls ask until its question is answered, maybe by another member, or ctx or the replica
// ends.
func (db *DB) again(ctx context.Context, ask func() error) error {
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		err := ask()
		if !unanswered(err) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ended(ctx), err)
		case <-db.applied.endedAt:
			return db.applied.err()
		}
	}
}

// bound is for how long calls of a process that is cut off wait.
func (db *DB) bound() time.Duration { return db.cfg.RequestTimeout + db.cfg.ResolveTimeout }

// cutOff returns an ErrUnanswered if nothing was answered for as long as that.
func (db *DB) cutOff() error {
	last := db.heard.Load()
	if last == nil || time.Since(*last) < db.bound() {
		return nil
	}
	return fmt.Errorf("%w for %v", ErrUnanswered, time.Since(*last).Round(time.Millisecond))
}

// answer notes that a request was answered, if its error does not say otherwise.
func (db *DB) answer(err error) {
	if now := time.Now(); !unanswered(err) {
		db.heard.Store(&now)
	}
}

// get asks for a key, or more.
func (db *DB) get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, db.cfg.RequestTimeout)
	defer cancel()
	resp, err := db.client.Get(ctx, key, opts...) // linearizable
	db.answer(err)
	return resp, err
}

// txn sends a request to compare and write.
func (db *DB) txn(
	ctx context.Context, cmps []clientv3.Cmp, then, otherwise []clientv3.Op,
) (*clientv3.TxnResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, db.cfg.RequestTimeout)
	defer cancel()
	resp, err := db.client.Txn(ctx).If(cmps...).Then(then...).Else(otherwise...).Commit()
	db.answer(err)
	return resp, err
}
