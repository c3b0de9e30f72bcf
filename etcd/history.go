package etcd

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// A guard is that of a table as of some revision: when it was put, and by which commit, which is a
// name that no other one has; and how often it was put, which is how many commits have written to
// the table.
type guard struct {
	Rev     uint64
	By      string
	Version int64
}

func guardOf(kv *mvccpb.KeyValue) guard {
	return guard{uint64(kv.ModRevision), string(kv.Value), kv.Version}
}

// guards returns the guards of an answer, by their tables and classes.
func (db *DB) guards(resp *clientv3.GetResponse) map[string]guard {
	all := map[string]guard{}
	for _, kv := range resp.Kvs {
		if of, ok := db.keys.guarded(string(kv.Key)); ok {
			all[of] = guardOf(kv)
		}
	}
	return all
}

// A history is the replica's knowledge of the commits, to notice if the cluster has other ones. A
// cluster that has the newest commit that is known here, by its name and at its revision, has all
// that were before it.
type history struct {
	mu     sync.Mutex
	guards map[string]guard // of all tables and classes, as of the newest revision that is applied
	// last is the newest guard that is known, and lastOf its table and class: one that was applied,
	// or that a commit of this process has put, which etcd has told of.
	last   guard
	lastOf string
	beaten uint64 // the newest revision that was applied when the last beat came; the beat's own
	// quiet is a revision of the cluster up to which a beat has found no commit that is not applied.
	// Nobody who waits for a revision is told of it: a commit of another history may have that one.
	quiet atomic.Uint64
}

// expect notes a commit of this process: it has put the guard of, with a name.
func (h *history) expect(rev uint64, of, by string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen(of, guard{Rev: rev, By: by})
}

// seen notes a guard that was put, if it is the newest. The caller has locked mu.
func (h *history) seen(of string, g guard) {
	if g.Rev > h.last.Rev {
		h.last, h.lastOf = g, of
	}
}

// follows returns an error if a guard that is put next is not the one after that which is known:
// then commits are missing, or the history is another one.
func (h *history) follows(of string, g guard) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if known := h.guards[of]; g.Version != known.Version+1 {
		return fmt.Errorf("%w: at revision %d table %q was written for the %dth time, and here %d times, "+
			"the last one at %d", ErrHistoryLost, g.Rev, tableOf(of), g.Version, known.Version, known.Rev)
	}
	return nil
}

// newest returns the guard that was put last, as far as is known here; its Rev is 0 if none was.
func (h *history) newest() (of string, last guard) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lastOf, h.last
}

// put notes guards that were loaded, or applied. None is ever deleted.
func (h *history) put(guards map[string]guard) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.guards == nil {
		h.guards = map[string]guard{}
	}
	for of, g := range guards {
		h.guards[of] = g
		h.seen(of, g)
	}
}

// agrees returns an error if l contradicts the newest guard known, where all up to here is applied.
func (h *history) agrees(l *loaded, here uint64) error {
	if l.rev < here {
		return fmt.Errorf("%w: it is at revision %d, and this replica at %d", ErrHistoryLost, l.rev, here)
	}
	of, known := h.newest()
	now := l.guards[of]
	if known.Rev <= l.rev && (now.Version < known.Version || now.Rev < known.Rev ||
		now.Rev == known.Rev && now.By != known.By || now.Rev > known.Rev && now.Rev <= here) {
		return known.lost(of, now)
	}
	return nil
}

// lost returns the error that a guard which is known here is another one in the cluster.
func (g guard) lost(of string, now guard) error {
	return fmt.Errorf("%w: table %q was written last at %d by %q, and here at %d by %q", ErrHistoryLost,
		tableOf(of), now.Rev, now.By, g.Rev, g.By)
}

// beat calls once at each heartbeat, until the replica ends.
func (db *DB) beat(once func()) {
	tick := time.NewTicker(db.cfg.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-db.ctx.Done():
			return
		case <-db.applied.endedAt:
			return
		case <-tick.C:
			once()
		}
	}
}

// beatServers is the heartbeat that asks each server for its version. It has a goroutine of its
// own: a server that does not answer takes the time of nothing else.
func (db *DB) beatServers() {
	if err := db.checkServers(db.ctx); isVersion(err) || errors.Is(err, ErrHistoryLost) {
		db.fail(err)
	}
}

// beatOnce looks whether the cluster has the history that it had, and whether the watch goes on. A
// question that is not answered is asked the next time.
func (db *DB) beatOnce() {
	before := db.applied.now()
	newest, at, err := db.newest(db.ctx)
	if err != nil {
		return
	}
	if newest > before {
		at = 0
	}
	switch err := db.checkPast(at); {
	case errors.Is(err, ErrHistoryLost):
		db.fail(err)
		return
	case err == nil: // nothing was committed up to there: a watch need not begin before
		db.history.quiet.Store(max(at, db.history.quiet.Load()))
	}
	// By the next beat the watch should have come so far, or at least further.
	epoch := db.local.Epoch()
	moved := epoch > db.history.beaten
	db.history.beaten = epoch
	if newest > before && db.figures.behind.Swap(newest) > before && !moved {
		db.standsStill(before, newest)
	}
}

// checkPast looks whether the cluster has the newest commit that is known here, as of the newest
// revision up to which all are known: at is one, or 0. Its error is an ErrHistoryLost, or says that
// this could not be compared now: if it is compacted reload compares.
func (db *DB) checkPast(at uint64) error {
	here := max(at, db.history.quiet.Load(), db.applied.now()) // must precede the look at the guard
	of, last := db.history.newest()
	here = max(here, last.Rev)
	resp, err := db.get(db.ctx, db.keys.allGuards()+of, clientv3.WithRev(int64(here)))
	switch {
	case isRPC(err, rpctypes.ErrFutureRev):
		return fmt.Errorf("%w: it has not come to revision %d, which is known here", ErrHistoryLost, here)
	case err != nil:
		return err
	case resp.Header.ClusterId != db.cluster:
		return db.another(resp.Header)
	}
	if is := db.guards(resp)[of]; is.Rev != last.Rev || is.By != last.By {
		return last.lost(of, is)
	}
	return nil
}
