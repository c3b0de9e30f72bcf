package gc

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
)

// A notice is a message to the logger about one pin.
type notice struct {
	pin     epoch.Pin
	evicted bool
}

// maxNotices bounds the messages that one round sends to the logger: if 10^5 snapshots grow old
// together, the first messages say it all.
const maxNotices = 64

// round finds the live transactions, notes the oldest, evicts those that are too old, and returns
// the notices. It warns only if warn is set. r.refreshing is held. Eviction comes before the view
// is made: only evicted transactions see the versions that are pruned afterwards.
func (r *Reclaimer) round(now time.Duration, warn bool) (notices []notice) {
	r.history.advance(r.now, r.cfg.Slots)
	note := func(p epoch.Pin, evicted bool) {
		if r.cfg.Logger != nil && len(notices) < maxNotices {
			notices = append(notices, notice{p, evicted})
		}
	}
	limits := epoch.Limits{Evict: r.cfg.MaxAge, Evicted: func(p epoch.Pin) {
		r.counters.evicted.Add(1)
		note(p, true)
	}}
	if warn && r.cfg.Logger != nil && !r.logging.Load() {
		limits.Warn, limits.Warned = r.cfg.WarnAge, func(p epoch.Pin) { note(p, false) }
	}
	if oldest, ok := r.cfg.Slots.Round(now, limits); ok {
		r.oldest.Store(&oldest)
	} else {
		r.oldest.Store(nil)
	}
	return notices
}

// A Reader is a transaction or snapshot that is open.
type Reader struct {
	Epoch epoch.Epoch     // at which it reads
	Age   time.Duration   // since a round saw it first
	Began []runtime.Frame // where it began, innermost first, if that was traced
}

// Readers returns up to n of the transactions and snapshots that are open, the oldest first. It
// makes a round, as a refresh does, so it waits for a refresh under way.
func (r *Reclaimer) Readers(n int) (list []Reader) {
	r.refreshing.Lock()
	now := r.now()
	notices := r.round(now, true)
	for _, p := range r.cfg.Slots.Oldest(n) {
		list = append(list, Reader{p.Epoch, now - p.Since, r.began(p)})
	}
	r.refreshing.Unlock()
	r.tell(notices, now, nil)
	return list
}

// began returns where a transaction began, without the frames of the library.
func (r *Reclaimer) began(p epoch.Pin) []runtime.Frame {
	began := p.Began()
	for r.cfg.Inner != nil && len(began) > 0 && r.cfg.Inner(began[0].File) {
		began = began[1:]
	}
	return began
}

// tell gives notices to the logger: in this goroutine if apart is nil, else in a goroutine that
// apart starts, so that a slow handler does not hold up reclaiming. While a handler runs, warnings
// are put off, and evictions only counted. Evictions are also only counted if apart starts none.
func (r *Reclaimer) tell(
	notices []notice, now time.Duration, apart func(say func()) bool,
) {
	if len(notices) == 0 || !r.logging.CompareAndSwap(false, true) {
		return
	}
	say := func() {
		defer r.logging.Store(false)
		for _, n := range notices {
			r.log(n, now)
		}
	}
	if apart == nil {
		say()
	} else if !apart(say) {
		r.logging.Store(false)
	}
}

func (r *Reclaimer) log(n notice, now time.Duration) {
	msg := "mvcc: an old transaction or snapshot keeps versions from being reclaimed"
	if n.evicted {
		msg = "mvcc: a transaction or snapshot was too old and has been evicted"
	}
	attrs := []slog.Attr{
		slog.Uint64("epoch", uint64(n.pin.Epoch)),
		slog.Duration("age", now-n.pin.Since),
	}
	if began := r.began(n.pin); len(began) > 0 {
		var b strings.Builder
		for _, f := range began {
			fmt.Fprintf(&b, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
		}
		attrs = append(attrs, slog.String("began", b.String()))
	}
	r.cfg.Logger.LogAttrs(context.Background(), slog.LevelWarn, msg, attrs...)
}
