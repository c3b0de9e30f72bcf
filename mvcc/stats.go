package mvcc

import (
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// counters counts what happens off the hot path. What happens on it is derived:
// commits from the clock, ended transactions from the generations of the slots.
type counters struct {
	_           [128]byte
	wasted      atomic.Uint64 // epochs drawn that are no transaction's commit epoch
	helped      atomic.Uint64
	pushed      atomic.Uint64
	revoked     atomic.Uint64
	rivals      atomic.Uint64
	reinstalled atomic.Uint64
	conflicts   atomic.Uint64
	retries     atomic.Uint64
	leaked      atomic.Uint64
	pruned      atomic.Uint64
	_           [128]byte
}

// Stats says what a map has done so far, and what it holds. Counters grow,
// gauges go up and down. Fields are read one after the other, not at one
// instant; when nothing is going on they are exact. Commits alone may fall: a
// commit under way is counted when it has drawn its epoch, and no longer if it
// fails.
type Stats struct {
	// Epoch is the newest epoch drawn (gauge).
	Epoch uint64
	// MinVisible is the cached min visible epoch: nobody reads below it (gauge).
	MinVisible uint64
	// LiveEpochs is the number of distinct read epochs in the newest view,
	// LiveTx that of transactions and snapshots that are open (gauges).
	LiveEpochs, LiveTx int
	// OldestPin is the oldest read epoch that is being read, as seen by the
	// background work, and OldestPinAge for how long it has seen it; both
	// are zero if there is none (gauges).
	OldestPin    uint64
	OldestPinAge time.Duration
	// QueueDepth is how many keys wait to be pruned, Aside how many wait for a
	// read epoch to end (gauges).
	QueueDepth, Aside int

	// Commits counts commits that wrote something, one-key writes included.
	Commits uint64
	// Ended counts transactions and snapshots that have ended, however.
	Ended uint64
	// Conflicts counts commits that failed, Retries the further attempts that
	// Update made.
	Conflicts, Retries uint64
	// Helped counts writers that another goroutine committed, Pushed those
	// for which one drew an epoch, Revoked epochs taken away again, Rivals
	// writers that were aborted because they stood still, Reinstalled the
	// attempts that followed.
	Helped, Pushed, Revoked, Rivals, Reinstalled uint64
	// Pruned counts versions dropped; a few may be counted twice, when two
	// goroutines pruned the same key.
	Pruned uint64
	// TickRefreshes and CommitRefreshes count the views made by the ticker and
	// asked for by committers; RefreshTime is what the ticker's took.
	TickRefreshes, CommitRefreshes uint64
	RefreshTime                    time.Duration
	// SyncFallbacks counts keys that a committer had to prune because the
	// queue was full.
	SyncFallbacks uint64
	// Leaked counts transactions and snapshots that were never ended, and
	// were ended by the garbage collector.
	Leaked uint64

	_ struct{}
}

// Stats returns the present statistics. It looks at every slot, and waits for
// nobody that reads or commits.
func (m *Map[K, V]) Stats() Stats {
	g := m.gc.Stats()
	live, ended := m.slots.Census()
	c := m.counters
	wasted := c.wasted.Load()
	now := m.slots.Now()
	if invariant.Enabled && wasted > now-epoch.First {
		invariant.Violated("%d epochs were wasted, and %d drawn", wasted, now-epoch.First)
	}
	return Stats{
		Epoch:           now,
		MinVisible:      g.MinVisible,
		LiveEpochs:      g.LiveEpochs,
		LiveTx:          live,
		OldestPin:       g.OldestPin,
		OldestPinAge:    g.OldestPinAge,
		QueueDepth:      g.QueueDepth,
		Aside:           g.Aside,
		Commits:         now - epoch.First - wasted,
		Ended:           ended,
		Conflicts:       c.conflicts.Load(),
		Retries:         c.retries.Load(),
		Helped:          c.helped.Load(),
		Pushed:          c.pushed.Load(),
		Revoked:         c.revoked.Load(),
		Rivals:          c.rivals.Load(),
		Reinstalled:     c.reinstalled.Load(),
		Pruned:          c.pruned.Load(),
		TickRefreshes:   g.TickRefreshes,
		CommitRefreshes: g.CommitRefreshes,
		RefreshTime:     g.RefreshTime,
		SyncFallbacks:   g.Fallbacks,
		Leaked:          c.leaked.Load(),
	}
}
