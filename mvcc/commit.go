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
//	0  let those go first that have a claim    once, for a bounded time
//	1  make the entries that are missing       may wait for the index
//	2  install a pending version on each key   one CAS each; then mark the watches
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

// result says how an attempt to commit went.
type result uint8

const (
	resultCommitted result = iota
	resultConflict         // a read or a first-committer-wins rule is violated
	resultAborted          // somebody gave up waiting for us
	resultEvicted          // the transaction was too old
	resultGaveUp           // the context ended while it was being aborted again and again
)

// commit commits the transaction gen, reports whether it did, and recycles its
// state, whatever the outcome. If it did not, c says why, and b, unless it is nil, has
// made a claim if there is reason to.
func (st *txState[K, V]) commit(gen uint64, c *conflict[K], b *bid) bool {
	if len(st.writes) == 0 {
		st.finish(gen) // read-only: serializable at its read epoch
		return true
	}
	m := st.m
	if len(st.writes) == 1 && !st.hasRead && (b == nil || b.claim == nil) {
		// A blind write of one key, the same as a Store: it cannot conflict.
		w := &st.writes[0]
		st.end(gen)
		m.writeTo(w.e, w.key, w.v, always)
		st.recycle(gen)
		return true
	}
	if m.favour.Any() && !st.giveWay(gen, c, b) {
		return false
	}
	check := uint64(0)
	if st.hasRead && st.level == LevelSerializable && !st.written() {
		check = checkBit
	}
	own := bid{ctx: context.Background()}
	asks := &own
	if b != nil {
		asks = b
	}
	r := st.try(gen, check)
	for attempt := 0; r == resultAborted; attempt++ {
		// Nobody wrote what we read, so far as we know; somebody just could
		// not wait. Install again, with versions and a record that are new:
		// the old ones may still be in somebody's hands.
		m.counters.reinstalled.Add(1)
		st.renew()
		if attempt+1 >= bidAborts || len(st.writes) > largeBatch || st.dirtied >= maxDirty {
			st.dirtied = 0
			if !asks.wait() {
				st.bid(asks)
				asks.wait()
			}
			if asks.ctx.Err() != nil { // nothing is installed: it may as well end here
				r = resultGaveUp
				break
			}
		} else {
			backoff(attempt)
		}
		r = st.try(gen, check)
	}
	own.end()
	switch r {
	case resultConflict:
		*c = st.conflict
		st.conflict = conflict[K]{}
		m.counters.conflict(c.kind)
		if b != nil {
			st.lose(b, c.key)
		}
		st.end(gen)
	case resultEvicted:
		c.kind = conflictEvicted
		st.end(gen)
	case resultGaveUp:
		c.kind = conflictGaveUp
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
		st.markAll() // must precede: from here on others may commit it
		if hooks.Enabled {
			hooks.At(hooks.Marked)
		}
		if s := st.word.Load(); !isKind(s, kindActive) || !advance(st.word, s, announcedWord(s, 0, check)) {
			st.withdraw(len(st.writes))
			return resultAborted
		}
	}
	e, r := st.decide(gen)
	if st.watch != nil {
		m.watches.remove(st.watch)
		st.watch = nil
	}
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
			if len(st.writes) == 1 {
				m.mark(st.writes[0].key, st.word)
				if hooks.Enabled {
					hooks.At(hooks.Marked)
				}
			}
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
			if st.revoked >= maxRevocations {
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
			st.revoked++
		}
	}
}

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
	}
}

// renew gives every write a version that nobody else has seen.
func (st *txState[K, V]) renew() {
	for i := range st.writes {
		old := st.writes[i].v
		v := &version[V]{value: old.value}
		setWord(&v.state, old.state.Load()&tombBit)
		st.writes[i].v = v
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
		return cmp.Compare(addr(&a), addr(&b))
	})
}
