package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Whether a request was applied is not known if no answer comes; and it may be applied later than
// anybody would wait. So each commit puts a key of its process, a slot, that no other commit uses
// meanwhile, and compares that the slot is as it was. If there is no answer another request puts the
// slot, under the same condition. One of the two is applied, and the other one never will be: the slot
// says which.
//
//   - O1: a slot is put only under the condition that it was put last at the revision that its owner
//     knows. So all requests that were sent for one state of it exclude each other.
//   - O2: its owner sends nothing else before it knows the outcome.
//   - O3: a slot is deleted when its process closes, or has given up asking, or has not used it for very
//     long, see janitor.go, and never made anew: a request that comes later finds nothing, which is no
//     state that it compares with. An owner that finds its slot gone before that, or older than it was,
//     knows that the cluster has lost commits.
//   - O4: of the idle ones that is taken which has been idle for longest, and with a new one the past of
//     the cluster is compared: so after the cluster went back hardly any is as its owner knows it, by which
//     a commit could pass that was compared with revisions of another history.
type slot struct {
	name string
	last int64     // the revision at which it was put last
	seq  int       // counts the commits
	put  time.Time // before it was put last
	sent time.Time // before the commit that is under way was sent
}

// at says at which revision the slot was put last.
func (s *slot) at(rev int64) { s.last, s.put = rev, s.sent }

// What a slot says.
const (
	sayNew    = "new"
	sayCommit = "commit "
	sayFence  = "fence "
)

// says is what the slot says once its present commit is applied.
func (s *slot) says() string { return fmt.Sprint(sayCommit, s.seq) }

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
	select {
	case s.room <- struct{}{}:
	case <-ctx.Done():
		return nil, ended(ctx)
	case <-s.db.applied.endedAt:
		return nil, s.db.applied.err()
	}
	s.db.figures.inFlight.Add(1)
	s.mu.Lock()
	for len(s.idle) > 0 {
		one := s.idle[0] // O4
		if s.idle = s.idle[1:]; one.idle(s.db) {
			continue // J2
		}
		s.mu.Unlock()
		return one, nil
	}
	s.made++
	one := &slot{name: fmt.Sprint(s.db.keys.slots(), s.db.self, "/", s.made, "/", s.db.cfg.SlotAge),
		sent: time.Now()}
	s.mu.Unlock()
	err := s.make(ctx, one)
	if err == nil {
		err = s.db.samePast(ctx)
	}
	if err != nil {
		s.give(nil)
		return nil, err
	}
	return one, nil
}

// samePast waits until what is applied here was compared with what the cluster says, if it still has that:
// O4.
func (db *DB) samePast(ctx context.Context) error {
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		err := db.checkPast()
		if errors.Is(err, ErrHistoryLost) {
			db.fail(err)
		}
		switch {
		case isRPC(err, rpctypes.ErrCompacted): // maybe by others, and nothing is written here
			return nil
		case err == nil || errors.Is(err, ErrHistoryLost) || definite(err):
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

// make puts a slot for the first time. It may be asked for that again and again.
func (s *slots) make(ctx context.Context, one *slot) error {
	absent := clientv3.Compare(clientv3.ModRevision(one.name), "=", 0)
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		resp, err := s.db.txn(ctx, []clientv3.Cmp{absent}, []clientv3.Op{clientv3.OpPut(one.name, sayNew)},
			[]clientv3.Op{clientv3.OpGet(one.name)})
		switch {
		case err == nil && resp.Succeeded:
			one.at(resp.Header.Revision)
			return nil
		case err == nil:
			one.at(resp.Responses[0].GetResponseRange().Kvs[0].ModRevision)
			return nil
		case isRPC(err, rpctypes.ErrNoSpace):
			return ErrNoSpace
		case definite(err):
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ended(ctx), err)
		case <-s.db.applied.endedAt:
			return s.db.applied.err()
		}
	}
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

// txn sends a request to compare and write.
func (db *DB) txn(
	ctx context.Context, cmps []clientv3.Cmp, then, otherwise []clientv3.Op,
) (*clientv3.TxnResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, db.cfg.RequestTimeout)
	defer cancel()
	return db.client.Txn(ctx).If(cmps...).Then(then...).Else(otherwise...).Commit()
}

// An outcome is what has become of a request to commit.
type outcome struct {
	committed bool
	rev       uint64 // at which, or that of the newest commit, if others were in the way
	// conflict says that something was compared and had changed. If neither is set nothing was
	// committed for another reason, and it may be tried again.
	conflict bool
	// unanswered is why there was no answer, where one was wanted and nothing was committed.
	unanswered error
}

// commit sends a request with a slot, and finds out what has become of it, even after ctx has ended.
// The error is definite, and nothing was committed; or [ErrOutcomeUnknown]. The slot is nil
// afterwards if it must not be used again.
func (db *DB) commit(ctx context.Context, at **slot, r *request) (outcome, error) {
	s := *at
	s.seq++
	s.sent = time.Now()
	cmps := append([]clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(s.name), "=", s.last)}, r.cmps...)
	then := append([]clientv3.Op{clientv3.OpPut(s.name, s.says())}, r.ops(s.name[len(db.keys.slots()):]+
		" "+s.says())...)
	otherwise := []clientv3.Op{clientv3.OpGet(s.name), clientv3.OpGet(db.keys.allGuards(), newestGuard...)}
	resp, err := db.txn(ctx, cmps, then, otherwise)
	switch {
	case err == nil && resp.Header.ClusterId != db.cluster:
		why := db.another(resp.Header)
		if resp.Succeeded { // it was committed, there
			return db.lost(at, why)
		}
		db.fail(why)
		*at = nil
		return outcome{}, why
	case err == nil && resp.Succeeded:
		s.at(resp.Header.Revision)
		return outcome{committed: true, rev: uint64(resp.Header.Revision)}, nil
	case err == nil:
		o, known, err := s.read(resp.Responses[0].GetResponseRange())
		if err != nil && s.idle(db) { // J3, and it was not committed
			*at = nil
			return outcome{}, nil
		}
		if err != nil {
			db.fail(err)
			*at = nil
			return outcome{}, err
		}
		o.conflict = !known // the slot is as it was, so it was something else
		if !o.committed {
			o.rev = guardedAt(resp.Responses[1].GetResponseRange().Kvs)
		}
		return o, nil
	case isRPC(err, rpctypes.ErrRequestTooLarge), isRPC(err, rpctypes.ErrTooManyOps):
		return outcome{}, errors.Join(r.tooLarge(db), err)
	case definite(err):
		return outcome{}, err
	}
	db.figures.unclear.Add(1)
	o, why := db.resolve(at, isRPC(err, rpctypes.ErrNoSpace))
	switch {
	case why != nil || o.committed:
		return o, why
	case overLimit(err): // maybe the answer was, so it had to be found out
		return outcome{}, errors.Join(r.tooLarge(db), err)
	}
	o.unanswered = err
	return o, nil
}

// read returns what a slot, as it was read, says about the present commit. It is not known if the slot
// is as it was before that. The error is an ErrHistoryLost.
func (s *slot) read(resp *etcdserverpb.RangeResponse) (o outcome, known bool, err error) {
	if len(resp.Kvs) == 0 || resp.Kvs[0].ModRevision < s.last {
		return outcome{}, false, fmt.Errorf("%w: %s, which was put at revision %d, is %v", ErrHistoryLost,
			s.name, s.last, resp.Kvs)
	}
	kv := resp.Kvs[0]
	if kv.ModRevision == s.last {
		return outcome{}, false, nil
	}
	s.at(kv.ModRevision)
	if string(kv.Value) == s.says() {
		return outcome{committed: true, rev: uint64(kv.ModRevision)}, true, nil
	}
	return outcome{}, true, nil
}

// resolve finds out what has become of a request that was not answered; or answered that there is no
// space, if full is set: then it has been applied, or will not be.
func (db *DB) resolve(at **slot, full bool) (outcome, error) {
	s := *at
	ctx, cancel := context.WithTimeout(db.ctx, db.cfg.ResolveTimeout)
	defer cancel()
	same := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(s.name), "=", s.last)}
	fence := []clientv3.Op{clientv3.OpPut(s.name, fmt.Sprint(sayFence, s.seq))}
	look := []clientv3.Op{clientv3.OpGet(s.name)}
	for pause := minPause; ctx.Err() == nil; pause = min(2*pause, maxPause) {
		resp, err := db.txn(ctx, same, fence, look)
		switch {
		case err == nil && resp.Header.ClusterId != db.cluster:
			return db.lost(at, db.another(resp.Header))
		case err == nil && resp.Succeeded:
			s.at(resp.Header.Revision)
			return outcome{}, nil
		case err == nil:
			o, known, err := s.read(resp.Responses[0].GetResponseRange())
			switch {
			case err != nil && s.idle(db): // J3
				*at = nil
				db.figures.unknown.Add(1)
				return outcome{}, ErrOutcomeUnknown
			case err != nil:
				return db.lost(at, err)
			case known:
				return o, nil
			}
		case isRPC(err, rpctypes.ErrNoSpace):
			// The fence may have been applied, and another write will not be.
			got, err := db.client.Get(ctx, s.name)
			if err != nil {
				break
			}
			o, known, err := s.read((*etcdserverpb.RangeResponse)(got))
			switch {
			case err != nil && s.idle(db): // J3
				*at = nil
				db.figures.unknown.Add(1)
				return outcome{}, ErrOutcomeUnknown
			case err != nil:
				return db.lost(at, err)
			case known:
				return o, nil
			case full:
				return outcome{}, ErrNoSpace
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	*at = nil // what was sent may still come
	db.figures.unknown.Add(1)
	db.workers.Go(func() { db.abandon(s.name) }) // Close waits for the caller before it does for workers
	return outcome{}, ErrOutcomeUnknown
}

// abandon deletes a slot, as soon as etcd can be asked: what was sent with it has no effect after that.
func (db *DB) abandon(name string) {
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		ctx, cancel := context.WithTimeout(db.ctx, db.cfg.RequestTimeout)
		_, err := db.client.Delete(ctx, name)
		cancel()
		if err == nil || isRPC(err, rpctypes.ErrPermissionDenied) {
			return
		}
		select {
		case <-time.After(pause):
		case <-db.ctx.Done():
			return
		}
	}
}

// another says that another cluster has answered.
func (db *DB) another(header *etcdserverpb.ResponseHeader) error {
	return fmt.Errorf("%w: the cluster has ID %x, and had %x", ErrHistoryLost, header.ClusterId, db.cluster)
}

// lost ends the replica, amid a request: whether the cluster that there was has applied it is not
// known.
func (db *DB) lost(at **slot, why error) (outcome, error) {
	db.fail(why)
	*at = nil
	db.figures.unknown.Add(1)
	return outcome{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, why)
}

// guardedAt returns the revision of the newest of some guards.
func guardedAt(kvs []*mvccpb.KeyValue) (rev uint64) {
	for _, kv := range kvs {
		rev = max(rev, uint64(kv.ModRevision))
	}
	return rev
}
