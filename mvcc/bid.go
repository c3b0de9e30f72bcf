package mvcc

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/engine/favour"
)

// A bid gets one call of Update through: after several lost attempts it makes a claim on the keys
// that the last attempt has read and written, waits until the claim is granted, and tries again
// while writers of these keys let it go first. Other writers, reads and snapshots are not
// concerned. See package favour.
type bid struct {
	ctx   context.Context
	claim *favour.Claim // its last claim, or nil
	lost  int           // how many attempts it has lost
	gave  int           // how often it has let others go first
	began time.Time     // when the attempt began, zero if unknown
	last  bool          // there is no further attempt
	epoch uint64        // of the commit, once there is one
	seen  *observation  // tells of each attempt, or is nil
	// took is the longest time that an attempt to commit has taken. timed says that every attempt
	// to commit is timed, since a claim was over too soon.
	took  time.Duration
	timed bool
	long  bool   // no function of an Update runs in its turn
	kind  uint64 // of its transactions, see forCall
}

const (
	// Update makes a claim after bidLosses lost attempts, or after largeLosses if it reads and
	// writes more than largeBatch keys: to lose a large attempt costs more than to hold up others.
	// When Update has met bidMeets claims of others on its keys, it makes a claim behind them.
	bidLosses   = 6
	largeLosses = 2
	bidMeets    = 3
	// A commit makes a claim when others have aborted bidAborts attempts, or one attempt if the
	// commit writes more than largeBatch keys.
	bidAborts  = 5
	largeBatch = 256
	// A commit sets an alarm on the keys that it validates when readers have taken away
	// maxRevocations epochs. It makes a claim when others have raised its alarm, without
	// committing, in maxDirty validations.
	maxRevocations = 4
	maxDirty       = 4
)

// A claim is granted for four times as long as the last attempt took, and at least twice as long as
// the last claim if that was over too soon. The most is the sum of maxTenure, tenureForKey for each
// key read or written, and four times the duration of a commit: reads, writes and commits take time
// in a large map. Other work of an Update's function gets no time. Without such a function
// longTenure is added, since the machine may be slow.
const (
	tenureFactor = 4
	maxTenure    = 100 * time.Millisecond
	longTenure   = time.Second
	tenureForKey = 10 * time.Microsecond
	tookLimit    = 10 * time.Second // of the time added for a commit, which may have been stopped
)

// enter makes a claim on keys, to be granted for at most the time given.
func (b *bid) enter(keys *favour.Keys, most time.Duration, q *favour.Queue) {
	tenure := time.Duration(0)
	if b.claim.Over() {
		b.timed, tenure = true, 2*b.claim.GrantTime()
	}
	b.end()
	if !b.began.IsZero() {
		tenure = max(tenure, tenureFactor*time.Since(b.began))
	}
	b.claim = q.Enter(keys, min(tenure, most))
}

// wait waits until the claim is granted, and reports whether it is. It returns false if there is no
// claim, if ctx ends first, or if the tenure is over.
func (b *bid) wait() bool {
	if b.claim == nil {
		return false
	}
	if b.claim.Held() {
		return true
	}
	if hooks.Scheduled() {
		hooks.GaveUp()
		b.end()
		return false
	}
	return b.claim.Wait(b.ctx) && b.claim.Held()
}

// pause begins a time that does not count for the attempt, and returns the function that ends it.
func (b *bid) pause() func() {
	start := time.Now()
	return func() {
		if !b.began.IsZero() {
			b.began = b.began.Add(time.Since(start))
		}
	}
}

// end gives the claim back.
func (b *bid) end() {
	if b.claim != nil {
		b.claim.End()
		b.claim = nil
	}
}

// bid makes a claim for the transaction.
func (st *txState) bid(b *bid) {
	most := maxTenure + time.Duration(st.concerned())*tenureForKey
	if b.long {
		most += longTenure
	}
	if st.quick() {
		most += min(tenureFactor*b.took, tookLimit)
	}
	b.enter(st.keySet(true), most, st.m.favour)
}

// quick reports whether the commit calls no function of the user except to compare keys: none that
// was given to Merge, and none that says when a record expires.
func (st *txState) quick() bool {
	return !slices.ContainsFunc(st.parts, func(p *part) bool { return p.m.expiry() != nil }) && !st.merges()
}

// merges reports whether the transaction calls functions that were given to Merge.
func (st *txState) merges() bool {
	return slices.ContainsFunc(st.writes, func(w write) bool { return w.merges() })
}

// giveWay waits, before anything is installed, for the holders of claims on keys that the
// transaction writes, once for each holder. It reports whether the transaction goes on.
//
// An Update that has read anything most likely conflicts with the holders. So giveWay ends the
// transaction, as after a conflict, and waits: nothing is kept for the transaction meanwhile.
// Update then runs its function again. An Update that meets bidMeets claims makes its own, behind
// them. A claim at the first meeting would lead to more claims for as long as there are writers,
// and each holder would have to be woken, where two running writers get through beside each other.
func (st *txState) giveWay(gen epoch.Gen, c *conflict, b *bid) (goOn bool) {
	m := st.m
	if b != nil && b.claim.Held() {
		return true
	}
	var few [8]uint64
	hashes := st.claimed(few[:0])
	switch {
	case len(hashes) == 0:
		return true
	case hooks.Scheduled():
		hooks.GaveUp()
		return true
	case b == nil:
		m.favour.Await(background, hashes...)
		return true
	case !st.hasRead || b.last:
		end := b.pause()
		m.favour.Await(b.ctx, hashes...)
		end()
		return true
	}
	// The holder of the claim may be through by now.
	*c = st.yield(st.conflictKind(), hashes[0])
	if b.gave++; b.gave >= bidMeets {
		st.bid(b)
	}
	st.finish(gen)
	if b.gave < bidMeets {
		m.favour.Await(b.ctx, hashes...)
	}
	return false
}

// conflictKind returns the kind of a conflict on a key that is written.
func (st *txState) conflictKind() ConflictKind {
	if st.level == LevelSnapshot {
		return ConflictWrite
	}
	return ConflictRead
}

// yield returns, and counts, a conflict on the key to be written that has the hash.
func (st *txState) yield(kind ConflictKind, hash uint64) conflict {
	for i := range st.writes {
		if w := &st.writes[i]; st.claimHash(w) == hash {
			st.parts[w.of].conflictOn(w.v.Key(), kind, nil)
			break
		}
	}
	c := st.takeConflict()
	c.of.conflicts[kind].Add(1)
	return c
}

// claimed appends the hashes of the keys to be written that others have a claim on.
func (st *txState) claimed(hashes []uint64) []uint64 {
	for i := range st.writes {
		if hash := st.claimHash(&st.writes[i]); st.m.favour.Claimed(hash) {
			hashes = append(hashes, hash)
		}
	}
	return hashes
}

// claimHash returns [core.claimHash] of a key that is written.
func (w *txWork) claimHash(of *write) uint64 { return w.parts[of.of].m.claimHash(of.hash) }

// eachHash calls f with the claimHash of each key that is written.
func (st *txState) eachHash(f func(hash uint64)) {
	for i := range st.writes {
		f(st.claimHash(&st.writes[i]))
	}
}

// giveWay is [txState.giveWay] for a one-key write, which has read nothing.
func (m *core) giveWay(hash uint64) {
	if hash = m.claimHash(hash); m.favour.Claimed(hash) {
		if hooks.Scheduled() {
			hooks.GaveUp()
			return
		}
		m.favour.Await(background, hash)
	}
}

// lose notes that the transaction has lost over the key with the hash, and makes a claim if it has
// lost often enough, or has met enough claims. Update waits for the claim.
func (st *txState) lose(b *bid, hash uint64) {
	b.lost++
	if b.claim.Held() && b.claim.Has(hash) {
		return
	}
	enough := bidLosses
	if st.concerned() > largeBatch {
		enough = largeLosses
	}
	if b.lost >= enough || b.gave >= bidMeets && st.m.favour.Claimed(hash) {
		st.bid(b)
	}
}

// keySet returns the keys that the transaction has read and, if asked to, written.
func (st *txState) keySet(written bool) *favour.Keys {
	n := len(st.reads) + st.absences()
	if written {
		n += len(st.writes)
	}
	if st.own.isWhole() && !st.m.tagged {
		return favour.All()
	}
	keys := favour.NewKeys(n)
	for _, p := range st.parts {
		if p.isWhole() {
			keys.AddTable(uint16(p.m.ordinal))
			continue
		}
		for i := range p.absences() {
			_, hash := p.absent.at(i)
			keys.Add(p.m.claimHash(hash))
		}
	}
	for i := range st.reads {
		r := &st.reads[i]
		if p := st.parts[r.of]; !p.isWhole() {
			keys.Add(p.m.claimHash(p.index.Hash.Sum(r.seen.Key())))
		}
	}
	for i := range st.writes {
		if w := &st.writes[i]; written && !st.parts[w.of].isWhole() {
			keys.Add(st.claimHash(w))
		}
	}
	return keys
}

// isWhole reports whether the transaction has read the whole map, or ranges of it: nobody knows
// which keys a range will have.
func (p *part) isWhole() bool { return p.scanned || p.counted || len(p.ranges) > 0 }

// concerned returns how many keys the transaction has read or written.
func (st *txState) concerned() int {
	n := len(st.reads) + st.absences() + len(st.writes)
	for _, p := range st.parts {
		if p.scanned || p.counted || p.again {
			n += p.index.Len()
		} else {
			n += len(p.notes) * leafful
		}
	}
	return n
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
