package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// An outcome is that of a request to commit.
type outcome struct {
	committed bool
	rev       uint64 // at which, or that of the newest commit, if others were in the way
	// conflict says that something was compared and had changed. If neither is set nothing was
	// committed for another reason, and it may be tried again.
	conflict bool
	// unanswered is why there was no answer, where one was wanted and nothing was committed.
	unanswered error
}

// commit sends a request with a slot, and finds out its outcome, even after ctx has ended. The
// error is definite, and nothing was committed; or [ErrOutcomeUnknown]. The slot is nil afterwards
// if it must not be used again.
func (db *DB) commit(ctx context.Context, at **slot, r *request) (outcome, error) {
	if len(r.narrow) > 0 {
		if err := db.keepsFields(ctx, r); unanswered(err) && db.cutOff() == nil {
			return outcome{unanswered: err}, nil
		} else if err != nil {
			return outcome{}, err
		}
	}
	s := *at
	s.seq++
	s.sent = time.Now()
	name := s.name[len(db.keys.slots()):] + " " + s.says()
	o, err := db.send(ctx, at, r, name)
	if o.committed {
		of, _ := db.keys.guarded(r.guard)
		db.history.expect(o.rev, of, name)
	}
	return o, err
}

// send sends a request to commit, under a name that no other one has.
func (db *DB) send(ctx context.Context, at **slot, r *request, name string) (outcome, error) {
	s := *at
	same, then := clientv3.Compare(clientv3.ModRevision(s.name), "=", s.last), r.ops(name)
	cmps := []clientv3.Cmp{same, clientv3.Compare(clientv3.ModRevision(db.keys.cease()), "<", r.agreed+1)}
	of, known := db.history.newest()
	last, seen := db.keys.allGuards()+of, known.Rev
	if seen > 0 { // O5
		cmps = append(cmps, clientv3.Compare(clientv3.ModRevision(last), ">", int64(seen)-1))
	}
	then = append(then, clientv3.OpPut(s.name, s.says()))
	otherwise := []clientv3.Op{clientv3.OpGet(s.name),
		clientv3.OpGet(db.keys.allGuards(), db.keys.newest()...),
		clientv3.OpGet(db.keys.cease())}
	if r.absent { // O6
		otherwise = append(otherwise, clientv3.OpTxn([]clientv3.Cmp{same}, []clientv3.Op{s.fence()}, nil))
	}
	resp, err := db.txn(ctx, append(cmps, r.cmps...), then, otherwise)
	switch {
	case err == nil && resp.Header.ClusterId != db.cluster:
		*at = nil
		why := db.another(resp.Header)
		if resp.Succeeded { // it was committed, there
			return outcome{}, db.unknown(s, why)
		}
		db.fail(why)
		return outcome{}, why
	case err == nil && resp.Succeeded:
		s.at(resp.Header.Revision)
		return outcome{committed: true, rev: uint64(resp.Header.Revision)}, nil
	case err == nil:
		o, known, err := s.read(resp.Responses[0].GetResponseRange())
		if err != nil && s.idle(db) { // J4, and it was not committed
			*at = nil
			return outcome{}, nil
		}
		newest := resp.Responses[1].GetResponseRange().Kvs
		if put := guardedAt(newest); err == nil && put < seen {
			err = fmt.Errorf("%w: %s was put at revision %d, and now the newest one is of %d", ErrHistoryLost,
				last, seen, put)
		}
		if err != nil {
			db.fail(err)
			*at = nil
			return outcome{}, err
		}
		o.conflict = !known // the slot was as it was, so it was something else
		if o.conflict && r.absent {
			s.at(resp.Header.Revision)
		}
		if !o.committed {
			o.rev = guardedAt(slices.Concat(newest, resp.Responses[2].GetResponseRange().Kvs))
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

// read returns the outcome of the present commit, by the slot as it was read. It is not known if
// the slot is as it was before that commit. The error is an ErrHistoryLost.
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

// resolve finds out the outcome of a request that was not answered, for up to ResolveTimeout; or
// answered that there is no space, if full is set: then it has been applied, or will not be.
func (db *DB) resolve(at **slot, full bool) (outcome, error) {
	s := *at
	ctx, cancel := context.WithTimeout(db.ctx, db.cfg.ResolveTimeout)
	defer cancel()
	o, known, err := db.settle(ctx, s, full)
	if known {
		return o, err
	}
	*at = nil // the request may still come
	return outcome{}, db.unknown(s, err)
}

// settle asks for the outcome of the present commit of a slot until it is known, or ctx ends. An
// error without an outcome says that nobody will know it.
func (db *DB) settle(ctx context.Context, s *slot, full bool) (o outcome, known bool, err error) {
	same := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(s.name), "=", s.last)}
	fence := []clientv3.Op{s.fence()}
	look := []clientv3.Op{clientv3.OpGet(s.name)}
	for pause := minPause; ctx.Err() == nil; pause = min(2*pause, maxPause) {
		var says *etcdserverpb.RangeResponse
		resp, err := db.txn(ctx, same, fence, look)
		switch {
		case err == nil && resp.Header.ClusterId != db.cluster:
			return o, false, db.another(resp.Header)
		case err == nil && resp.Succeeded:
			s.at(resp.Header.Revision)
			return o, true, nil
		case err == nil:
			says = resp.Responses[0].GetResponseRange()
		case isRPC(err, rpctypes.ErrNoSpace):
			// The fence may have been applied, and another write will not be.
			if got, err := db.get(ctx, s.name); err == nil {
				says = (*etcdserverpb.RangeResponse)(got)
			}
		}
		if says != nil {
			o, known, err := s.read(says)
			switch {
			case err != nil && s.idle(db): // J4
				return o, false, ErrOutcomeUnknown
			case err != nil || known:
				return o, known, err
			case full:
				return o, true, ErrNoSpace
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return o, false, nil
}

// unknown returns the error of a commit whose outcome is not known. Unless why says that nobody
// will know it, the replica goes on to ask by its slot, for [UnknownError.Wait].
func (db *DB) unknown(s *slot, why error) error {
	db.figures.unknown.Add(1)
	e := &UnknownError{err: why, settled: make(chan struct{})}
	if why != nil {
		close(e.settled)
		if errors.Is(why, ErrHistoryLost) {
			db.fail(why)
			return fmt.Errorf("%w: %w", e, why)
		}
		return e
	}
	db.workers.Go(func() { // Close waits for the caller before it does for workers
		o, known, err := db.settle(db.ctx, s, false)
		if errors.Is(err, ErrHistoryLost) {
			db.fail(err)
		}
		if e.committed = o.committed; !known {
			e.err = cmp.Or(err, db.applied.err())
		}
		close(e.settled)
		db.abandon(s.name)
	})
	return e
}

// abandon deletes a slot, as soon as etcd can be asked: requests sent with it have no effect after
// that.
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

// guardedAt returns the revision of the newest of some guards, or other keys.
func guardedAt(kvs []*mvccpb.KeyValue) (rev uint64) {
	for _, kv := range kvs {
		rev = max(rev, uint64(kv.ModRevision))
	}
	return rev
}
