package etcd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
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

// guardsAt asks for the guards of all tables as of a revision.
func (db *DB) guardsAt(ctx context.Context, rev uint64) (*clientv3.GetResponse, error) {
	return db.get(ctx, db.keys.allGuards(), clientv3.WithPrefix(), clientv3.WithRev(int64(rev)))
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

// A history is what the replica knows of what was committed, to notice if the cluster has another
// one.
type history struct {
	mu      sync.Mutex
	guards  map[string]guard // of all tables and classes, as of the newest revision that is applied
	checked map[string]bool  // endpoints whose version will do
	// expected are commits of this process, by their revisions, that etcd has told of and that are
	// yet to be applied: the guard that each has put, and its name. Up to upTo nothing is expected
	// any more.
	expected map[uint64]expectation
	upTo     uint64
	last     uint64 // the newest revision at which a guard was put, that is known of, and which one
	lastOf   string
	beaten   uint64 // the newest revision that was applied when the last beat came; the beat's own
}

type expectation struct{ of, by string }

// expect notes a commit of this process: it has put the guard of, with a name.
func (h *history) expect(rev uint64, of, by string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.expected == nil {
		h.expected = map[uint64]expectation{}
	}
	if rev > h.upTo {
		h.expected[rev] = expectation{of, by}
		h.seen(of, rev)
	}
}

// seen notes a guard that was put, if it is the newest. The caller has locked mu.
func (h *history) seen(of string, rev uint64) {
	if rev > h.last {
		h.last, h.lastOf = rev, of
	}
}

// met returns an error if a commit that is expected is not there, now that a revision has come,
// which has put some guards: then the cluster has another one in its place.
func (h *history) met(rev uint64, guards map[string]guard) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.upTo = rev
	for at, e := range h.expected {
		switch {
		case at > rev:
		case at < rev || guards[e.of].By != e.by:
			return fmt.Errorf("%w: this process has committed %q at revision %d, which is not there",
				ErrHistoryLost, e.by, at)
		default:
			delete(h.expected, at)
		}
	}
	return nil
}

func (h *history) verified(endpoint string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.checked == nil {
		h.checked = map[string]bool{}
	}
	h.checked[endpoint] = true
}

func (h *history) loaded(l *loaded) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.guards, h.upTo = maps.Clone(l.guards), l.rev
	for of, g := range h.guards {
		h.seen(of, g.Rev)
	}
	maps.DeleteFunc(h.expected, func(at uint64, _ expectation) bool { return at <= l.rev })
}

// follows returns why a guard is not the one that comes next: then commits are missing in between,
// or they are those of another history.
func (h *history) follows(of string, g guard) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if known := h.guards[of]; g.Version != known.Version+1 {
		return fmt.Errorf("%w: at revision %d table %q was written for the %dth time, and here %d times, "+
			"the last one at %d", ErrHistoryLost, g.Rev, tableOf(of), g.Version, known.Version, known.Rev)
	}
	return nil
}

// newest returns the guard that was put last, as far as is known here, and when, 0 if none was.
func (h *history) newest() (of string, rev uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lastOf, h.last
}

func (h *history) put(guards map[string]guard) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for of, g := range guards {
		h.guards[of] = g
		h.seen(of, g.Rev)
	}
}

func (h *history) now() map[string]guard {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.guards)
}

// agrees returns what in l contradicts what was applied up to here.
func (h *history) agrees(l *loaded, here uint64) error {
	if l.rev < here {
		return fmt.Errorf("%w: it is at revision %d, and this replica at %d", ErrHistoryLost, l.rev, here)
	}
	h.mu.Lock()
	for at, e := range h.expected {
		if at <= l.rev && l.guards[e.of].Rev < at {
			h.mu.Unlock()
			return fmt.Errorf("%w: this process has committed at revision %d, and table %q was written last "+
				"at %d", ErrHistoryLost, at, tableOf(e.of), l.guards[e.of].Rev)
		}
	}
	h.mu.Unlock()
	for of, known := range h.now() {
		now := l.guards[of]
		if now.Version < known.Version || now.Rev < known.Rev || now.Rev == known.Rev && now.By != known.By ||
			now.Rev > known.Rev && now.Rev <= here {
			return fmt.Errorf("%w: table %q was written last at %d by %q, and here at %d by %q",
				ErrHistoryLost, tableOf(of), now.Rev, now.By, known.Rev, known.By)
		}
	}
	return nil
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

// beatServers is what a heartbeat asks each server. It has a goroutine of its own: one that does
// not answer takes the time of nothing else.
func (db *DB) beatServers() {
	if err := db.checkServers(db.ctx); isVersion(err) || errors.Is(err, ErrHistoryLost) {
		db.fail(err)
	}
}

// beatOnce looks whether the cluster has the history that it had, and whether the watch goes on.
// What cannot be asked is asked the next time.
func (db *DB) beatOnce() {
	before := db.applied.now()
	newest, _, err := db.newest(db.ctx)
	if err != nil {
		return
	}
	if err := db.checkPast(); errors.Is(err, ErrHistoryLost) {
		db.fail(err)
		return
	}
	// By the next beat the watch should have come so far, or at least further.
	moved := before > db.history.beaten
	db.history.beaten = before
	if newest > before && db.figures.behind.Swap(newest) > before && !moved {
		db.standsStill(before, newest)
	}
}

// checkPast compares the guards as of the newest revision that is applied. Its error is an
// ErrHistoryLost, or says that they could not be compared now: if they are compacted reload
// compares.
func (db *DB) checkPast() error {
	var here uint64
	var known map[string]guard
	for { // both as of one moment
		here, known = db.applied.now(), db.history.now()
		if db.applied.now() == here {
			break
		}
	}
	resp, err := db.guardsAt(db.ctx, here)
	switch {
	case isRPC(err, rpctypes.ErrFutureRev):
		return fmt.Errorf("%w: it has not come to revision %d, which is applied here", ErrHistoryLost, here)
	case err != nil:
		return err
	case resp.Header.ClusterId != db.cluster:
		return db.another(resp.Header)
	}
	then := db.guards(resp)
	for of, g := range known {
		if g.Rev > here {
			continue // the revision that is being applied
		}
		if is := then[of]; is.Rev != g.Rev || is.By != g.By {
			return fmt.Errorf("%w: as of revision %d table %q was written last at %d by %q, and here at %d by %q",
				ErrHistoryLost, here, tableOf(of), is.Rev, is.By, g.Rev, g.By)
		}
	}
	return nil
}
