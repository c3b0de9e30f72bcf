package favour

import (
	"context"
	"sync/atomic"
	"time"
)

// A Claim is the wish of a transaction to go first on some keys. Its owner calls its methods.
type Claim struct {
	q         *Queue
	keys      *Keys
	state     atomic.Uint32 // written under q.mu
	ready     chan struct{} // closed when the claim is granted; nil if that was at once
	grantTime time.Duration

	// All below is read and written under q.mu.
	sinceAt   int           // its place in q.since, -1 if it has none
	liveAt    int           // its place in q.live, while it is granted or rests
	deadline  time.Time     // of the grant, or of the rest that follows
	over      chan struct{} // made by the first writer that awaits the end of the grant
	blockers  int           // how many claims have to end first
	followers []*Claim      // the claims that wait for this one to end
	abandoned bool          // its owner does not wait for it any more
}

// The states of a claim.
const (
	waiting uint32 = iota
	granted
	resting // its grant is over, and no follower is granted yet
	ended
)

// MinGrantTime is for how long a claim is granted at least: a goroutine that lost its
// processor has it back by then, if others give way.
const MinGrantTime = 10 * time.Millisecond

// keyed reports whether the claim queues for each of its keys.
func (c *Claim) keyed() bool {
	return !c.keys.all && c.keys.whole == nil && c.keys.keyCount <= keyedKeys
}

// Wait waits until the claim is granted, and returns true. If ctx ends before, it ends the claim
// and returns false.
func (c *Claim) Wait(ctx context.Context) bool {
	if c.ready == nil {
		return true
	}
	select {
	case <-c.ready:
		return true
	case <-ctx.Done():
		if c.Held() {
			return true
		}
		c.End()
		return false
	}
}

// Held reports whether the claim is granted, and its time is not over.
func (c *Claim) Held() bool { return c != nil && c.state.Load() == granted }

// Over reports whether the claim has ended, or the time of its grant is over.
func (c *Claim) Over() bool { return c != nil && c.state.Load() >= resting }

// GrantTime returns for how long the claim is granted.
func (c *Claim) GrantTime() time.Duration { return c.grantTime }

// Has reports whether the claim is on a key with the hash.
func (c *Claim) Has(hash uint64) bool { return c.keys.Has(hash) }

// End ends the claim, in whatever state it is, and lets the next claims go on. It may be called
// more than once, and does nothing if c is nil.
func (c *Claim) End() {
	if c == nil {
		return
	}
	q := c.q
	q.mu.Lock()
	defer q.mu.Unlock()
	switch c.state.Load() {
	case waiting:
		// Its followers wait for all that it waits for: it keeps its place.
		if !c.abandoned {
			c.abandoned = true
			q.waiting.Add(-1)
		}
	case granted:
		// In this order: no writer may find the keys of the next claim unclaimed.
		q.endClaim(c)
		q.release(c)
	case resting:
		q.endClaim(c)
	}
}
