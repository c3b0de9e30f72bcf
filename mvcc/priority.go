package mvcc

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"
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
	_       [120]byte     // holder is read by every commit, beat is written often
	beat    atomic.Uint64 // moves on while the holder does
	tickets atomic.Uint64
	_       [112]byte
}

// How a committer waits for the holder: it yields, then naps, and when the
// holder has not moved for honourPatience takes the priority away. A goroutine
// that lost its processor has it back after 10 ms if others give way.
const (
	honourYields   = 16
	honourNap      = 50 * time.Microsecond
	honourPatience = 10 * time.Millisecond
	honourLimit    = time.Second
)

// alive is the holder's sign of life.
func (p *priority) alive() { p.beat.Store(p.beat.Load() + 1) }

// acquire waits for the present holder and returns a ticket, with which the
// caller holds the priority until it releases it or is found standing still.
func (p *priority) acquire() uint64 {
	t := p.tickets.Add(1)
	for !p.holder.CompareAndSwap(0, t) {
		p.honour(t)
	}
	p.alive()
	return t
}

// renew returns ticket if it still holds the priority, and a new one otherwise.
func (p *priority) renew(ticket uint64) uint64 {
	if ticket != 0 && p.holder.Load() == ticket {
		return ticket
	}
	return p.acquire()
}

// release gives the priority back, if ticket still holds it.
func (p *priority) release(ticket uint64) { p.holder.CompareAndSwap(ticket, 0) }

// honour lets the holder go first, unless it is the caller.
func (p *priority) honour(ticket uint64) {
	h := p.holder.Load()
	if h == 0 || h == ticket {
		return
	}
	for range honourYields {
		runtime.Gosched()
		if p.holder.Load() != h {
			return
		}
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
		if now.Sub(start) > honourLimit {
			return
		}
	}
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
