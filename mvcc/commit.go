package mvcc

import (
	"cmp"
	"context"
	"slices"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// Committing.
//
//	1  make the entries that are missing       may wait for the index
//	2  install a pending version on each key   one CAS each
//	3  announce: active -> announced           one CAS
//	4  draw the commit epoch e from the clock, and put it in by a CAS
//	5  validate the reads as of e              serializable, with reads
//	6  publish: -> committed                   one CAS: the linearization point
//	7  copy the epoch into the versions, prune
//
// Without validation the CAS of step 4 goes straight to committed and is the
// linearization point; it may be a helper's. A transaction with one key installs
// its version announced: then 2 and 3 are one step. If it has read nothing either,
// it is committed as a Store is, see onekey.go.
//
//   - I2: an undecided writer draws its epoch after it announced itself. So a
//     reader that found it active may pass over it: the epoch will be above
//     every epoch that anybody reads at by then. Draw first and announce
//     afterwards, and a reader that begins in between sees half of it.
//   - I3: nothing is shared before step 2. To abort before is to forget.
//   - I4: nobody waits for a sleeper. From step 2 on everybody who meets the
//     transaction can decide for it, see read.go and install.go.
//   - The epoch is drawn before validation. Drawn afterwards, a transaction that
//     read what another overwrote could be given the later epoch of the two, and
//     snapshots in between would see the other one without it.
//   - The slot stays live until validation has ended: it keeps what was read
//     from being taken out of the index and made anew.

// After priorityAttempts attempts that others aborted, or after one if it writes
// more than largeBatch keys, and after maxRevocations epochs that readers took
// away, a commit goes into priority mode.
const (
	priorityAttempts = 4
	largeBatch       = 256
	maxRevocations   = 4
)

// result says how an attempt to commit went.
type result uint8

const (
	resultCommitted result = iota
	resultConflict         // a read or a first-committer-wins rule is violated
	resultAborted          // somebody gave up waiting for us
	resultEvicted          // the transaction was too old
)

// commit commits the transaction gen, reports whether it did, and recycles its
// state, whatever the outcome. If it did not, c says why.
func (st *txState[K, V]) commit(gen uint64, c *conflict[K]) bool {
	if len(st.writes) == 0 {
		st.finish(gen) // read-only: serializable at its read epoch
		return true
	}
	m := st.m
	if len(st.writes) == 1 && !st.hasRead && st.ticket == 0 {
		// A blind write of one key, the same as a Store: it cannot conflict.
		w := &st.writes[0]
		st.end(gen)
		m.writeTo(w.e, w.key, w.v, always)
		st.recycle(gen)
		return true
	}
	if m.priority.holder.Load() != st.ticket {
		m.priority.honour(st.ticket)
	}
	given := st.ticket // by Update, which gives it back
	check := uint64(0)
	if st.hasRead && st.level == LevelSerializable && !st.written() {
		check = checkBit
	}
	r := st.try(gen, check)
	for attempt := 0; r == resultAborted; attempt++ {
		// Nobody wrote what we read, so far as we know; somebody just could
		// not wait. Install again, with versions and a record that are new:
		// the old ones may still be in somebody's hands.
		m.counters.reinstalled.Add(1)
		st.renew()
		if attempt >= priorityAttempts || len(st.writes) > largeBatch {
			st.ticket = m.priority.renew(context.Background(), st.ticket)
		} else {
			backoff(attempt)
			m.priority.honour(st.ticket)
		}
		r = st.try(gen, check)
	}
	if st.ticket != given {
		m.priority.release(st.ticket)
	}
	switch r {
	case resultConflict:
		*c = st.conflict
		st.conflict = conflict[K]{}
		m.counters.conflict(c.kind)
		st.end(gen)
	case resultEvicted:
		c.kind = conflictEvicted
		st.end(gen)
	}
	st.recycle(gen)
	return r == resultCommitted
}

// try makes one attempt. If it commits, the transaction has ended. check is checkBit if
// it has to validate.
func (st *txState[K, V]) try(gen, check uint64) result {
	m := st.m
	for i := range st.writes {
		if w := &st.writes[i]; w.e == nil {
			w.e = m.makeEntry(w.key)
			st.alive()
		}
	}
	if hooks.Enabled {
		hooks.At(hooks.CommitEntries)
	}
	multi := len(st.writes) > 1
	if multi {
		st.order()
	}
	st.grows = 0
	// The record is the state word of the first version installed.
	first := st.writes[0].v
	st.word = &first.state
	if multi {
		setWord(&first.state, first.state.Load()&keepMask|specialWord(kindActive))
		for i := range st.writes[1:] {
			v := st.writes[i+1].v
			setLink(&v.rec, st.word)
			setWord(&v.state, v.state.Load()&keepMask|specialWord(kindIndirect))
		}
	} else {
		setWord(&first.state, announcedWord(first.state.Load(), 0, check))
	}

	for i := range st.writes {
		if r := st.install(gen, i); r != resultCommitted {
			st.withdraw(i)
			return r
		}
		if hooks.Enabled {
			hooks.At(hooks.Installed)
		}
	}
	if hooks.Enabled {
		hooks.At(hooks.InstalledAll)
	}
	if multi {
		if s := st.word.Load(); !isKind(s, kindActive) || !advance(st.word, s, announcedWord(s, 0, check)) {
			st.withdraw(len(st.writes))
			return resultAborted
		}
	}
	e, r := st.decide(gen)
	if r != resultCommitted {
		st.withdraw(len(st.writes))
		return r
	}
	if hooks.Enabled {
		hooks.At(hooks.Published)
	}
	if invariant.Enabled {
		st.checkCommit(gen, e)
	}
	// The reads are over: do not keep the versions that we have just replaced.
	st.end(gen)
	st.count()
	for i := range st.writes[1:] {
		v := st.writes[i+1].v
		if invariant.Enabled {
			v.checkCopy(e)
		}
		for s := v.state.Load(); !v.state.CompareAndSwap(s, committedWord(s, e)|s&waitBit); {
			s = v.state.Load() // a pruner has marked it
		}
		v.rec.Store(nil) // must follow: see resolve
	}
	if hooks.Enabled {
		hooks.At(hooks.Finalized)
	}
	for i := range st.writes {
		m.installed(st.writes[i].e, st.writes[i].v)
		st.alive()
	}
	if m.gc.Due(e) {
		m.gc.RefreshPast(e, 0)
	}
	return resultCommitted
}

// count counts what the commit has changed that its epoch does not show: versions
// beyond the first, and keys.
func (st *txState[K, V]) count() {
	if n := len(st.writes); n > 1 {
		st.slot.AddInstalled(uint64(n - 1))
	}
	if st.grows != 0 {
		st.m.counters.keys.Add(int64(st.grows))
	}
}

// decide takes the announced transaction gen to its end, and returns its commit
// epoch.
func (st *txState[K, V]) decide(gen uint64) (uint64, result) {
	m := st.m
	revoked := 0
	for {
		s := st.word.Load()
		switch tag(s) {
		case tagCommitted: // a helper was faster
			return epochOf(s), resultCommitted
		case tagSpecial: // aborted
			return 0, resultAborted
		case tagAnnounced:
			if hooks.Enabled {
				hooks.At(hooks.Announced)
			}
			// Must follow the load of s: its floor makes sure that an epoch
			// drawn before a revocation is not put in after it.
			d := decidedWord(s, m.slots.Next())
			if hooks.Enabled {
				hooks.At(hooks.Drawn)
			}
			// Linearization point of a transaction that does not validate,
			// unless a helper's CAS was.
			if !advance(st.word, s, d) {
				m.counters.wasted.Add(1)
			} else if committed(d) {
				return epochOf(d), resultCommitted
			}
		case tagTentative:
			if hooks.Enabled {
				hooks.At(hooks.Tentative)
			}
			if st.ticket != 0 {
				if e, r := st.decideWatched(gen); r != resultAborted {
					return e, r
				}
				continue
			}
			s, r := st.validated(gen, s, epochOf(s))
			if r != resultCommitted {
				if advance(st.word, s, abortedWord(s)) {
					m.counters.wasted.Add(1)
					return 0, r
				}
				st.conflict = conflict[K]{}
				continue // revoked, aborted: look again
			}
			if hooks.Enabled {
				hooks.At(hooks.Validated)
			}
			// Linearization point of a transaction that validates.
			if advance(st.word, s, committedWord(s, epochOf(s))) {
				return epochOf(s), resultCommitted
			}
			if revoked++; revoked == maxRevocations {
				st.ticket = m.priority.acquire(context.Background())
			}
		}
	}
}

// decideWatched validates and publishes a tentative transaction in priority mode.
// Others may move its epoch on while it validates: it validates as of the clock
// at the start, c, and may commit at any epoch up to c, or at a later one if
// every epoch above c was drawn for itself: then nothing can have been committed
// in between. So readers cannot keep it from committing by pushing it, however
// long the validation takes, and need not wait for it. It returns aborted if it
// is to be decided anew, or was aborted.
func (st *txState[K, V]) decideWatched(gen uint64) (uint64, result) {
	m := st.m
	w := &watch{word: st.word, base: m.slots.Now()}
	m.priority.watch.Store(w)
	defer m.priority.watch.CompareAndSwap(w, nil)
	// Must follow the load of the clock: whoever is passed over because it is
	// active draws an epoch above c, and shows as a stranger.
	_, r := st.validated(gen, st.word.Load(), w.base+1)
	if hooks.Enabled {
		hooks.At(hooks.Validated)
	}
	for tries := 0; ; {
		switch s := st.word.Load(); tag(s) {
		case tagAnnounced:
			e := m.slots.Next()
			w.count(e)
			if !advance(st.word, s, decidedWord(s, e)) {
				m.counters.wasted.Add(1)
			}
		case tagTentative:
			if r != resultCommitted {
				if advance(st.word, s, abortedWord(s)) {
					m.counters.wasted.Add(1)
					return 0, r
				}
				continue
			}
			if invariant.Enabled {
				w.check(m.slots.PeekNow)
			}
			if e := epochOf(s); e > w.base && w.strangers(m.slots) {
				if tries++; tries == hooks.Looks(watchTries) {
					return 0, resultAborted
				}
				continue // one may be about to be counted
			}
			// Linearization point of a transaction that validates.
			if advance(st.word, s, committedWord(s, epochOf(s))) {
				return epochOf(s), resultCommitted
			}
		default:
			return 0, resultAborted
		}
	}
}

// watchTries is how often a validated transaction looks whether the epochs drawn
// meanwhile have all been counted, before it validates again.
const watchTries = 256

// withdraw takes the versions of the first n writes off their chains, as far as
// nobody else has. The record must be aborted, or, if nothing is announced, is
// aborted here.
//
// It hands every entry over that it leaves without a value: one that was made
// for this commit, or one whose tombstone a pruner may have found covered.
func (st *txState[K, V]) withdraw(n int) {
	for {
		s := st.word.Load()
		if isKind(s, kindAborted) || advance(st.word, s, abortedWord(s)) {
			break
		}
	}
	for i := range st.writes {
		e, v := st.writes[i].e, st.writes[i].v
		if i < n {
			e.head.CompareAndSwap(v, v.next.Load())
		}
		if _, ok := e.head.Load().present(); !ok {
			st.m.offer(e)
		}
		st.alive()
	}
}

// renew gives every write a version that nobody else has seen.
func (st *txState[K, V]) renew() {
	for i := range st.writes {
		old := st.writes[i].v
		v := &version[V]{value: old.value}
		setWord(&v.state, old.state.Load()&tombBit)
		st.writes[i].v = v
		st.alive()
	}
}

// order sorts the writes by the address of their entries: two transactions with
// the same keys then meet on the first one, and not head-on. Nothing depends on
// it but speed.
func (st *txState[K, V]) order() {
	if hooks.Enabled && hooks.Scheduled() {
		return // addresses are chance; the order of the program does as well
	}
	addr := func(w *write[K, V]) uintptr { return uintptr(unsafe.Pointer(w.e)) }
	if len(st.writes) == 2 {
		if addr(&st.writes[0]) > addr(&st.writes[1]) {
			st.writes[0], st.writes[1] = st.writes[1], st.writes[0]
		}
		return
	}
	slices.SortFunc(st.writes, func(a, b write[K, V]) int {
		st.alive()
		return cmp.Compare(addr(&a), addr(&b))
	})
}

// alive is the sign of life of a transaction in priority mode.
func (st *txState[K, V]) alive() {
	if st.ticket != 0 {
		st.m.priority.alive(st.ticket)
	}
}
