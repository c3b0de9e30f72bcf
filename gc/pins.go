package gc

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
)

// A pin is a live read epoch, and since when passes have seen it.
type pin struct {
	epoch uint64
	since time.Duration
}

// A notice is what the logger is told of one pin.
type notice struct {
	pin     epoch.Pin
	evicted bool
}

// look walks over the live transactions: it notes the oldest, evicts those that
// are too old, and returns what is to be told of the others. r.refreshing is held.
// Eviction comes before the view is made: what is pruned afterwards is seen by
// nobody who has not been evicted before.
func (r *Reclaimer[E, V]) look(now time.Duration) (notices []notice) {
	var oldest *pin
	for p := range r.slots.Pins(now) {
		age := now - p.Since
		if r.maxAge > 0 && age >= r.maxAge && p.Evict() {
			r.counters.evicted.Add(1)
			notices = r.note(notices, notice{p, true})
			continue
		}
		if r.logger != nil && age >= r.warnAge && !r.logging.Load() && p.Warn() {
			notices = r.note(notices, notice{p, false})
		}
		if oldest == nil || p.Epoch < oldest.epoch || p.Epoch == oldest.epoch && p.Since < oldest.since {
			oldest = &pin{p.Epoch, p.Since}
		}
	}
	r.oldest.Store(oldest)
	return notices
}

// maxNotices bounds what the logger is told of one pass: where 10^5 snapshots
// grow old together the first of them say it all.
const maxNotices = 64

func (r *Reclaimer[E, V]) note(notices []notice, n notice) []notice {
	if r.logger == nil || len(notices) == maxNotices {
		return notices
	}
	return append(notices, n)
}

// tell has the logger told of notices, if apart in a goroutine of its own, since a
// handler that waits must not keep anything from being reclaimed. While it waits
// nobody is warned of; that is made up for later. Evictions are only counted then.
// The caller has set r.logging.
func (r *Reclaimer[E, V]) tell(notices []notice, now time.Duration, apart bool) {
	say := func() {
		defer r.logging.Store(false)
		for _, n := range notices {
			r.log(n, now)
		}
	}
	if !apart {
		say()
		return
	}
	r.wg.Go(say) // by the ticker, which Close waits for as well
}

func (r *Reclaimer[E, V]) log(n notice, now time.Duration) {
	msg := "mvcc: an old transaction or snapshot keeps versions from being reclaimed"
	if n.evicted {
		msg = "mvcc: a transaction or snapshot was too old and has been evicted"
	}
	attrs := []slog.Attr{
		slog.Uint64("epoch", n.pin.Epoch),
		slog.Duration("age", now-n.pin.Since),
	}
	if began := n.pin.Began(); len(began) > 0 {
		var b strings.Builder
		for _, f := range began {
			fmt.Fprintf(&b, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
		}
		attrs = append(attrs, slog.String("began", b.String()))
	}
	r.logger.LogAttrs(context.Background(), slog.LevelWarn, msg, attrs...)
}
