// Package favour lets transactions that have lost again and again go first: one after the other on
// each key, in the order in which they asked, and each for a bounded time.
//
// A transaction that has lost often makes a claim on the keys that it needs, see [Queue.Enter]. The
// claim is granted when no earlier claim has a key in common with it. From then on a writer of one
// of these keys lets the transaction go first, see [Queue.Await]: the writer waits once, until the
// claim has ended. Writers of other keys do not notice.
//
// A claim is not a lock: it only decides which transaction goes first. It ends with [Claim.End],
// and is taken away when its grant is over, whatever its holder does. Then the claim rests for as
// long again, while the next claims on its keys go on waiting, unless the holder ends it. So a
// series of holders that stand still has half of the time at most.
//
// All waiters are parked. The end of the claim that they wait for wakes them: of the claims that
// queue for one key, one at a time. The cost of a call does not grow with the number of waiters. A
// wide claim, which is on a table or on more than [keyedKeys] keys, waits for all claims made
// before it. A claim on few keys is compared key by key with the wide claims before it. Writers
// give way only for the very keys of a claim.
package favour

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Queue has the claims on the keys of one map, or of the tables of a database. The zero Queue is
// empty. It is safe for use by several goroutines, and must not be copied.
type Queue struct {
	_ [128]byte
	// grantedCount is the number of granted claims, plus alwaysAny if the count must not be 0. Each
	// of lanes is the list of the granted claims with a key in that lane, nil if there are none. A
	// list is never changed.
	grantedCount atomic.Int64
	lanes        [64]atomic.Pointer[[]*Claim]
	_            [120]byte

	mu sync.Mutex // held for a few instructions per key of a claim, and per claim in its lanes
	// last has, for each key, the last claim that queues for the key. wide has the wide claims in
	// their order, each of which waits for the one before. since has the claims by key that were
	// made after the last wide one.
	last  map[uint64]*Claim
	wide  []*Claim
	since []*Claim
	// live are the claims that are granted or rest.
	live  []*Claim
	timer *time.Timer
	due   time.Time // when the timer goes off; zero if it does not

	waiting   atomic.Int64
	granted   atomic.Uint64
	expired   atomic.Uint64
	deferrals atomic.Uint64
}

// keyedKeys is the largest number of keys for which a claim queues one by one.
const keyedKeys = 1024

// awaitSpins is how often Await loads the state of a claim before it parks: a holder that is
// running, and writes a few keys, is done by then.
const awaitSpins = 200

// Enter makes a claim on keys, which waits for the earlier claims on any of them. The new claim is
// granted for grantTime, and for MinGrantTime at least.
func (q *Queue) Enter(keys *Keys, grantTime time.Duration) *Claim {
	c := &Claim{q: q, keys: keys, sinceAt: -1, grantTime: max(grantTime, MinGrantTime)}
	q.mu.Lock()
	defer q.mu.Unlock()
	block := func(b *Claim) {
		b.followers = append(b.followers, c)
		c.blockers++
	}
	if c.keyed() {
		if q.last == nil {
			q.last = make(map[uint64]*Claim)
		}
		for hash := range keys.eachHash {
			if b := q.last[hash]; b != nil {
				block(b)
			}
			q.last[hash] = c
		}
		for _, b := range slices.Backward(q.wide) {
			if b.keys.meets(keys) { // b waits for the wide claims before it
				block(b)
				break
			}
		}
		c.sinceAt = len(q.since)
		q.since = append(q.since, c)
	} else {
		for _, b := range q.since {
			block(b)
			b.sinceAt = -1
		}
		q.since = nil
		if n := len(q.wide); n > 0 {
			block(q.wide[n-1])
		}
		q.wide = append(q.wide, c)
	}
	if c.blockers == 0 {
		q.grant(c)
	} else {
		c.ready = make(chan struct{})
		q.waiting.Add(1)
	}
	return c
}

// AlwaysAny has Any report true from now on: writers then have more to do than to give way.
func (q *Queue) AlwaysAny() { q.grantedCount.Add(alwaysAny) }

const alwaysAny = 1 << 32

// Any reports whether any claim is granted, or true after AlwaysAny. It costs a load.
func (q *Queue) Any() bool { return q.grantedCount.Load() != 0 }

// Claimed reports whether a claim on a key with the hash is granted. It looks at each granted claim
// in the lane of the hash.
func (q *Queue) Claimed(hash uint64) bool {
	if list := q.lanes[laneOf(hash)].Load(); list != nil {
		for _, c := range *list {
			if c.keys.Has(hash) {
				return true
			}
		}
	}
	return false
}

// Await waits until the claims that were granted on any of the keys with these hashes when Await
// was called have ended, or ctx has. It waits at most for the rest of each grant. It reports
// whether it had to wait.
func (q *Queue) Await(ctx context.Context, hashes ...uint64) (waited bool) {
	var few [4]*Claim
	claims := few[:0]
	for _, hash := range hashes {
		if list := q.lanes[laneOf(hash)].Load(); list != nil {
			for _, c := range *list {
				if c.keys.Has(hash) {
					claims = append(claims, c)
				}
			}
		}
	}
	for _, c := range claims {
		waited = q.await(ctx, c) || waited
	}
	return waited
}

func (q *Queue) await(ctx context.Context, c *Claim) bool {
	for range awaitSpins {
		if c.state.Load() != granted {
			return false
		}
	}
	q.mu.Lock()
	if c.state.Load() != granted {
		q.mu.Unlock()
		return false
	}
	if c.over == nil {
		c.over = make(chan struct{})
	}
	over := c.over
	q.mu.Unlock()
	q.deferrals.Add(1)
	q.waiting.Add(1)
	select {
	case <-over:
	case <-ctx.Done():
	}
	q.waiting.Add(-1)
	return true
}

// grant grants c. The caller holds q.mu, also in the functions below.
func (q *Queue) grant(c *Claim) {
	c.state.Store(granted)
	q.granted.Add(1)
	for i := range c.keys.eachLane {
		var list []*Claim
		if old := q.lanes[i].Load(); old != nil {
			list = append(make([]*Claim, 0, len(*old)+1), *old...)
		}
		list = append(list, c)
		q.lanes[i].Store(&list)
	}
	q.grantedCount.Add(1)
	c.liveAt = len(q.live)
	q.live = append(q.live, c)
	if c.ready != nil {
		close(c.ready)
		q.waiting.Add(-1)
	}
	c.deadline = time.Now().Add(c.grantTime)
	q.armTimer(c.deadline)
}

// release ends the grant of c.
func (q *Queue) release(c *Claim) {
	for i := range c.keys.eachLane {
		var rest *[]*Claim
		if old := *q.lanes[i].Load(); len(old) > 1 {
			list := slices.DeleteFunc(slices.Clone(old), func(o *Claim) bool { return o == c })
			rest = &list
		}
		q.lanes[i].Store(rest)
	}
	q.grantedCount.Add(-1)
	if c.over != nil {
		close(c.over)
		c.over = nil
	}
}

// endClaim takes c out of the queue and grants the claims that waited for it alone.
func (q *Queue) endClaim(c *Claim) {
	for next := []*Claim{c}; len(next) > 0; {
		c := next[len(next)-1]
		next = next[:len(next)-1]
		q.remove(c)
		for _, f := range c.followers {
			if f.blockers--; f.blockers > 0 {
				continue
			}
			if f.abandoned {
				next = append(next, f)
			} else {
				q.grant(f)
			}
		}
		c.followers = nil
	}
	if len(q.live) == 0 { // so there are no claims: each that waits does so for a live one
		q.live, q.since, q.wide = shrunk(q.live), shrunk(q.since), shrunk(q.wide)
		if q.timer != nil {
			q.timer.Stop()
		}
		q.timer, q.due = nil, time.Time{}
	}
}

// shrunk returns an empty list, without its memory if that is much.
func shrunk(list []*Claim) []*Claim {
	if cap(list) > 64 {
		return nil
	}
	return list
}

// remove takes c out of the lists of the queue. c keeps its followers.
func (q *Queue) remove(c *Claim) {
	was := c.state.Swap(ended)
	if was != waiting {
		last := len(q.live) - 1
		q.live[c.liveAt] = q.live[last]
		q.live[c.liveAt].liveAt = c.liveAt
		q.live[last] = nil
		q.live = q.live[:last]
	}
	if c.sinceAt >= 0 {
		last := len(q.since) - 1
		q.since[c.sinceAt] = q.since[last]
		q.since[c.sinceAt].sinceAt = c.sinceAt
		q.since[last] = nil
		q.since = q.since[:last]
	}
	if !c.keyed() {
		q.wide = slices.Delete(q.wide, 0, 1) // it is the first: each waits for the one before
		return
	}
	for hash := range c.keys.eachHash {
		if q.last[hash] == c {
			delete(q.last, hash)
		}
	}
	if len(q.last) == 0 && c.keys.keyCount > fewKeys {
		q.last = nil // it never shrinks by itself
	}
}

// armTimer makes sure that the timer goes off at the time, or before.
func (q *Queue) armTimer(at time.Time) {
	if !q.due.IsZero() && !at.Before(q.due) {
		return
	}
	q.due = at
	if q.timer == nil {
		q.timer = time.AfterFunc(time.Until(at), q.expire)
	} else {
		q.timer.Reset(time.Until(at))
	}
}

// expire takes away each claim that has been granted for its time, and ends each that has
// rested for as long again. It is called when the timer goes off.
func (q *Queue) expire() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.due = time.Time{}
	now := time.Now()
	var rested []*Claim
	for _, c := range q.live {
		if !c.deadline.After(now) {
			if c.state.Load() == resting {
				rested = append(rested, c)
				continue
			}
			q.expired.Add(1)
			q.release(c)
			c.state.Store(resting)
			c.deadline = now.Add(c.grantTime)
		}
		q.armTimer(c.deadline)
	}
	for _, c := range rested {
		q.endClaim(c)
	}
}
