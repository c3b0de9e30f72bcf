package etcd

import (
	"context"
	"sync"
	"time"
)

// A watch may hang: its member stands still, or cannot reach the others, and does not say so.
// Nothing but time tells that from one that is about to come. So it begins anew where it has not
// moved for a while, though it is known that something was committed above the revision that it has
// brought: at once the first time, and each further time only after twice as long, since a member
// may need long to send a large backlog, and beginning anew has it begin again. Once it moves the
// next time is the first one again.
type patience struct {
	mu    sync.Mutex
	at    uint64        // the revision that was applied when the watch began anew last
	last  time.Time     // when that was
	pause time.Duration // before it may once more
}

// mostPatience is the longest pause.
const mostPatience = 3 * time.Minute

// ended reports whether the watch is to begin anew, which has brought all up to a revision.
func (p *patience) ended(applied uint64, least time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if applied != p.at {
		p.at, p.pause = applied, 0
	}
	now := time.Now()
	if now.Sub(p.last) < p.pause {
		return false
	}
	p.last, p.pause = now, min(max(2*p.pause, least), mostPatience)
	return true
}

// standsStill has the watch begin anew, unless it has just done so: it has brought all up to a
// revision, and nothing for a while.
func (db *DB) standsStill(applied, newest uint64) {
	if !db.patience.ended(applied, db.cfg.RequestTimeout) {
		return
	}
	db.figures.whole.Store(!db.figures.whole.Load())
	db.figures.restarts.Add(1)
	db.cfg.Logger.Warn("etcd: the watch stands still, it begins anew", "applied", applied, "newest", newest)
	db.rewatch()
}

// come waits until all up to a revision is applied at which something was committed under the
// prefix. If nothing at all comes for as long as a request may take, the watch begins anew; if
// nothing is answered either, for as long as an Update may take, it gives up.
func (db *DB) come(ctx context.Context, rev uint64) error {
	for {
		before := db.applied.now()
		some, cancel := context.WithTimeout(ctx, db.cfg.RequestTimeout)
		err := db.applied.wait(some, rev)
		cancel()
		switch {
		case err == nil || db.applied.err() != nil:
			return err
		case ctx.Err() != nil:
			return ended(ctx)
		case db.applied.now() == before:
			if err := db.cutOff(); err != nil {
				return err
			}
			db.standsStill(before, rev)
		}
	}
}
