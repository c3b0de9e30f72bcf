package mvcc

import (
	"context"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// Priority mode is how a transaction that loses again and again, such as a scan
// of the whole map that writes, gets through beside hot writers: one at a time
// holds the priority, and every other committer of the map lets it go first.
//
// It is not a lock. A committer waits only as long as the holder shows signs of
// life, and no longer than a second; a holder that stands still, because it
// sleeps or its function computes, loses the priority and goes on without it.
// Reads and snapshots are not concerned.
type priority struct {
	_       [128]byte
	holder  atomic.Uint64 // ticket of the holder, 0 if there is none
	watch   atomic.Pointer[watch]
	_       [112]byte     // holder and watch are read by many, beat is written often
	beat    atomic.Uint64 // moves on while the holder does
	tickets atomic.Uint64
	_       [112]byte
}

// How a committer waits for the holder: it yields, then naps, and when the
// holder has not moved for honourPatience takes the priority away. A goroutine
// that lost its processor has it back after 10 ms if others give way, and so
// has, on most systems, a thread.
const (
	honourYields   = 16
	honourNap      = 50 * time.Microsecond
	honourPatience = 20 * time.Millisecond
	honourLimit    = time.Second
)

// alive is the sign of life of the holder, whose ticket it is. A transaction
// that has lost the priority gives none.
func (p *priority) alive(ticket uint64) {
	if p.holder.Load() == ticket {
		p.beat.Store(p.beat.Load() + 1)
	}
}

// acquire waits for the present holder and returns a ticket, with which the
// caller holds the priority until it releases it or is found standing still. It
// returns 0, and the caller goes on without, if ctx ends or after a second.
func (p *priority) acquire(ctx context.Context) uint64 {
	t := p.tickets.Add(1)
	for start := time.Now(); !p.holder.CompareAndSwap(0, t); {
		if ctx.Err() != nil || time.Since(start) > honourLimit {
			return 0
		}
		p.honourFor(t, honourPatience)
	}
	p.alive(t)
	return t
}

// renew returns ticket if it still holds the priority, and a new one otherwise.
func (p *priority) renew(ctx context.Context, ticket uint64) uint64 {
	if ticket != 0 && p.holder.Load() == ticket {
		return ticket
	}
	return p.acquire(ctx)
}

// release gives the priority back, if ticket still holds it.
func (p *priority) release(ticket uint64) {
	if ticket != 0 {
		p.holder.CompareAndSwap(ticket, 0)
	}
}

// honour lets the holder go first, unless it is the caller.
func (p *priority) honour(ticket uint64) { p.honourFor(ticket, honourLimit) }

func (p *priority) honourFor(ticket uint64, limit time.Duration) {
	if invariant.Enabled {
		p.check()
	}
	h := p.holder.Load()
	if h == 0 || h == ticket {
		return
	}
	for range hooks.Looks(honourYields) {
		runtime.Gosched()
		if p.holder.Load() != h {
			return
		}
	}
	if hooks.Enabled && hooks.Scheduled() {
		hooks.GaveUp()
		p.release(h) // as if it had stood still
		return
	}
	start := time.Now()
	beat, moved := p.beat.Load(), start
	for {
		time.Sleep(honourNap)
		if p.holder.Load() != h {
			return
		}
		now := time.Now()
		if b := p.beat.Load(); b != beat {
			beat, moved = b, now
		}
		if now.Sub(moved) > honourPatience {
			p.release(h)
			return
		}
		if now.Sub(start) > limit {
			return
		}
	}
}

// A watch counts the epochs that are drawn for the record of the holder. A
// validation that takes long beside readers of the keys it writes is pushed
// again and again. If all epochs drawn since it began were drawn for it, then
// nobody else can have committed, and it need not begin anew.
type watch struct {
	word *atomic.Uint64
	base uint64 // only epochs above it are counted
	n    atomic.Uint64
}

// watched returns the watch over word, or nil. It must be called before the
// epoch is drawn: an epoch that is not counted passes for a stranger's, which is
// safe; one that is counted without having been drawn would hide a stranger's.
func (p *priority) watched(word *atomic.Uint64) *watch {
	if w := p.watch.Load(); w != nil && w.word == word {
		return w
	}
	return nil
}

// count notes that e was drawn for the record that w watches.
func (w *watch) count(e uint64) {
	if w != nil && e > w.base {
		w.n.Add(1)
	}
}

// strangers reports whether, for all that is known, epochs above the base were
// drawn for other records, up to the epoch of a record that the caller has
// loaded. The count is loaded before the clock: what a late helper draws and
// counts between the two loads would make up for the epoch of a stranger.
func (w *watch) strangers(slots *epoch.Slots) bool {
	n := w.n.Load()
	if hooks.Enabled {
		hooks.At(hooks.WatchLoaded)
	}
	return slots.Now()-w.base != n
}

// backoff waits before attempt n+1, n counting from 0: not at all, then by
// yielding ever more often, then by sleeping for up to a millisecond.
func backoff(n int) {
	switch {
	case n == 0:
	case n < 8:
		for range min(1<<(n-1), 64) {
			runtime.Gosched()
		}
	default:
		time.Sleep(50*time.Microsecond + rand.N(950*time.Microsecond))
	}
}
