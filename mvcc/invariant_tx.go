package mvcc

import (
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// The invariants of reads, commits and pooled states, evaluated in builds with the
// tag mvccinvariants; see package invariant.

// checkRead: v, or nothing, is what the transaction gen sees on e. It must be what
// a second walk finds, and nothing that the transaction may see may have been
// dropped. A snapshot may be closed meanwhile: then nothing is said.
func (st *txState[K, V]) checkRead(gen uint64, e *entry[K, V], v *version[V]) {
	_, at := st.slot.Peek()
	var cut, found *version[V]
	dead := false
	for u := e.peekHead(); u != nil; {
		s := u.peekState()
		if committed(s) && epochOf(s) <= at {
			found = u
			break
		}
		dead = isKind(s, kindDead)
		st.m.checkLink(e.key, u)
		n := u.peekNext() // before what was dropped: a pruner notes it first
		if lost := u.lost.Load(); lost != 0 && lost <= at {
			cut = u
		}
		u = n
	}
	st.slot.CheckBegun(gen)
	if now, _ := st.slot.Peek(); now != gen {
		return
	}
	switch {
	case cut != nil:
		invariant.Violated("I1: key %v: a version of epoch %d was dropped from below %v, and a transaction reads at %d",
			e.key, cut.lost.Load(), word(cut.peekState()), at)
	case found != v && !(dead && (v == nil || v.peekTombstone())):
		invariant.Violated("key %v as of %d: read once %s, read twice %s", e.key, at, describe(v), describe(found))
	}
}

// checkGet is checkRead for the goroutine that uses the transaction.
func (st *txState[K, V]) checkGet(e *entry[K, V], v *version[V]) {
	gen, _ := st.slot.Peek()
	if st.slot.PeekEvicted() {
		return // meanwhile: nothing is said
	}
	st.checkRead(gen, e, v)
}

// describe returns what v says, or "nothing".
func describe[V any](v *version[V]) string {
	if v == nil {
		return "nothing"
	}
	return word(v.peekState()).String()
}

// checkedNewest is newestSlow, whose result must not be older than what was the
// newest version when the call began.
func (m *Map[K, V]) checkedNewest(e *entry[K, V]) *version[V] {
	before := e.peekHead()
	if before != nil && !committed(before.peekState()) {
		h := before
		if before = h.peekNext(); committed(h.peekState()) {
			before = nil // it may have been cut off: nothing is known
		}
	}
	v := m.newestSlow(e)
	if before == nil || !committed(before.peekState()) {
		return v
	}
	if v == nil && e.peekHead() != m.dead || v != nil && epochOf(v.peekState()) < epochOf(before.peekState()) {
		invariant.Violated("key %v: %s is read, when the newest had been %s", e.key, describe(v), describe(before))
	}
	return v
}

// checkCommit: what a commit at e, which has been published, relies on. The slot is
// still live.
func (st *txState[K, V]) checkCommit(gen, e uint64) {
	st.slot.CheckLive(gen)
	_, at := st.slot.Peek()
	if now := st.m.slots.PeekNow(); e <= at || e > now {
		invariant.Violated("a transaction that reads at %d commits at %d; the clock stands at %d", at, e, now)
	}
	for i := range st.writes {
		w := &st.writes[i]
		w.e.check(w.key)
		if s := w.v.peekState(); !committed(s) || epochOf(s) != e {
			invariant.Violated("key %v: a transaction commits at %d, its version says %v", w.key, e, word(s))
		}
		st.m.checkLink(w.key, w.v)
		if base := w.v.peekNext(); st.hasRead && st.level == LevelSnapshot && base != nil && epochOf(base.peekState()) > at {
			invariant.Violated("key %v: lost update: as of %d, committed at %d, over %s", w.key, at, e, describe(base))
		}
	}
	if st.hasRead && st.level == LevelSerializable {
		st.checkReads(at, e)
	}
}

// checkReads: commit order is epoch order: what a serializable transaction read at
// epoch at is what it would read at its commit epoch e. Not what was the newest
// when it validated, but what is known by now.
func (st *txState[K, V]) checkReads(at, e uint64) {
	for i := range st.reads {
		r := &st.reads[i]
		if r.seen != nil && !r.seen.peekTombstone() {
			st.checkUnchanged(r.e, epochOf(r.seen.peekState()), e)
		} else {
			st.checkAbsent(r.e.key, e)
		}
	}
	for _, key := range st.absent {
		st.checkAbsent(key, e)
	}
	if st.scanned {
		st.index.RangeRelaxed(func(key K, en *entry[K, V]) bool {
			en.check(key)
			st.checkUnchanged(en, at, e)
			return true
		})
	}
}

// checkUnchanged: nobody has committed on en after epoch from and before e.
func (st *txState[K, V]) checkUnchanged(en *entry[K, V], from, e uint64) {
	for u := en.peekHead(); u != nil; u = u.peekNext() {
		s := u.peekState()
		if !committed(s) {
			continue
		}
		if epochOf(s) <= from {
			return
		}
		if epochOf(s) < e {
			invariant.Violated("key %v: a transaction that read it as of %d commits at %d, and %v came between",
				en.key, from, e, word(s))
		}
	}
}

// checkAbsent: as of e, not counting what commits at e, key is absent, for all
// that pruners have left to be known.
func (st *txState[K, V]) checkAbsent(key K, e uint64) {
	en, _ := st.index.Load(key)
	if en == nil {
		return
	}
	for u := en.peekHead(); u != nil; {
		s := u.peekState()
		if committed(s) && epochOf(s) < e {
			if !u.peekTombstone() {
				invariant.Violated("key %v: a transaction that found it absent commits at %d, and %v is there", key, e, word(s))
			}
			return
		}
		n := u.peekNext()
		if lost := u.lost.Load(); lost != 0 && lost < e {
			return
		}
		u = n
	}
}

// checkTaken: a state that comes out of the pool serves nobody, and remembers
// nothing.
func (st *txState[K, V]) checkTaken() {
	st.idle.Store(0)
	if st.txWork == nil {
		return
	}
	if len(st.writes) > 0 || len(st.reads) > 0 || len(st.absent) > 0 || st.hasRead || st.scanned ||
		st.revoked != 0 || st.dirtied != 0 || st.conflict != (conflict[K]{}) || st.watch != nil || st.busy || st.word != nil || st.byKey != nil {
		invariant.Violated("a pooled state remembers a transaction: %d writes, %d reads, %d absent, read %v, scanned %v, revoked %d",
			len(st.writes), len(st.reads), len(st.absent), st.hasRead, st.scanned, st.revoked)
	}
}

// checkGiven: a state goes into the pool once for each time that it came out.
func (st *txState[K, V]) checkGiven() {
	if st.idle.Swap(1) != 0 {
		invariant.Violated("a state is put into the pool that is there already")
	}
}
