//go:build mvcccheck

package mvcc

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// The invariants of reads, commits and pooled states, evaluated in builds with the
// tag mvcccheck; see package invariant.

// checkRead: v, or nothing, is what the transaction gen sees of key. It must be what
// a second walk finds, and nothing that the transaction may see may have been
// dropped. A snapshot may be closed meanwhile: then nothing is said.
func (st *txState) checkRead(gen epoch.Gen, key unsafe.Pointer, v *node) {
	_, at := st.slot.Peek()
	var cut, found *node
	for u := st.index.peekHead(key); u != nil; {
		if w := st.m.peek(u); w.committed() && w.epoch() <= at {
			found = u
			break
		}
		st.m.checkLink(u)
		n := u.peekNext() // before what was dropped: a pruner notes it first
		if lost := u.lost.Load(); lost != 0 && epoch.Epoch(lost) <= at {
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
		invariant.Violated("I1: key %v: a version of epoch %d was dropped from below %v, and a "+
			"transaction reads at %d",
			st.index.hash.boxed(key), cut.lost.Load(), st.m.peek(cut), at)
	case found != v && !(found == nil && v.peekState().tomb()): // it may have left the index
		invariant.Violated("key %v as of %d: read once %s, read twice %s", st.index.hash.boxed(key), at, st.m.describe(v),
			st.m.describe(found))
	}
}

func (t *txn) checkRead(gen epoch.Gen, key unsafe.Pointer, v *node) {
	stateOf(t).checkRead(gen, key, v)
}

// checkGet is checkRead for the goroutine that uses the transaction.
func (st *txState) checkGet(key unsafe.Pointer, v *node) {
	gen, _ := st.slot.Peek()
	if st.slot.PeekEvicted() {
		return // meanwhile: nothing is said
	}
	st.checkRead(gen, key, v)
}

// describe returns what v says, or "nothing".
func (c *chains) describe(v *node) string {
	if v == nil {
		return "nothing"
	}
	return c.peek(v).String()
}

// checkNewestBegin returns what was the newest version when h, which was not committed a
// moment ago, was the head; nil if that is not known.
func (c *chains) checkNewestBegin(h *node) (before *node) {
	before = h.peekNext()
	if c.peek(h).committed() {
		return nil // it may have been cut off
	}
	return before
}

// checkNewestEnd: v is not older than before.
func (c *chains) checkNewestEnd(before, v *node) {
	if before == nil || v == nil && before.peekState().tomb() {
		return
	}
	if v == nil || c.peek(v).epoch() < c.peek(before).epoch() {
		invariant.Violated("key %v: %s is read, when the newest had been %s", c.keyOf(before), c.describe(v),
			c.describe(before))
	}
}

// checkCommit: what a commit at e, which has been published, relies on. The slot is
// still live.
func (st *txState) checkCommit(gen epoch.Gen, e epoch.Epoch) {
	m := st.m
	st.slot.CheckLive(gen)
	_, at := st.slot.Peek()
	if now := m.slots.PeekNow(); e <= at || e > now {
		invariant.Violated("a transaction that reads at %d commits at %d; the clock stands at %d", at, e,
			now)
	}
	for i := range st.writes {
		v := st.writes[i].v
		if w := m.peek(v); !w.committed() || w.epoch() != e {
			invariant.Violated("key %v: a transaction commits at %d, its version says %v", m.keyOf(v), e, w)
		}
		m.checkLink(v)
		if base := v.peekNext(); st.hasRead && st.level == LevelSnapshot && st.writes[i].merge == nil &&
			base != nil && m.peek(base).epoch() > at {
			invariant.Violated("key %v: lost update: as of %d, committed at %d, over %s", m.keyOf(v), at, e,
				m.describe(base))
		}
	}
	if st.validates() {
		st.checkReads(at, e)
	}
}

// checkReads: commit order is epoch order: what a serializable transaction read at
// epoch at is what it would read at its commit epoch e. Not what was the newest
// when it validated, but what is known by now.
func (st *txState) checkReads(at, e epoch.Epoch) {
	for i := range st.reads {
		if seen := st.reads[i].seen; !seen.peekState().tomb() {
			st.checkUnchanged(st.index.peekHead(seen.key()), st.m.peek(seen).epoch(), e)
		} else {
			st.checkAbsent(seen.key(), e)
		}
	}
	for i := range st.absences() {
		key, _ := st.absent.at(i)
		st.checkAbsent(key, e)
	}
	if st.scanned && st.level == LevelSerializable {
		st.index.peekAll(func(h *node) { st.checkUnchanged(h, at, e) })
	}
	for i := range st.ranges {
		r := st.ranges[i]
		st.index.peekAll(func(h *node) {
			if st.m.order.side(r, h.key()) == 0 {
				st.checkUnchanged(h, at, e)
			}
		})
	}
}

// checkUnchanged: nobody has committed in the chain from h after epoch from and before e.
func (st *txState) checkUnchanged(h *node, from, e epoch.Epoch) {
	for u := h; u != nil; u = u.peekNext() {
		w := st.m.peek(u)
		if !w.committed() {
			continue
		}
		if w.epoch() <= from {
			return
		}
		if w.epoch() < e {
			invariant.Violated("key %v: a transaction that read it as of %d commits at %d, and %v came "+
				"between",
				st.m.keyOf(u), from, e, w)
		}
	}
}

// checkAbsent: as of e, not counting what commits at e, key is absent, for all
// that pruners have left to be known.
func (st *txState) checkAbsent(key unsafe.Pointer, e epoch.Epoch) {
	for u := st.index.peekHead(key); u != nil; {
		if w := st.m.peek(u); w.committed() && w.epoch() < e {
			if !u.peekState().tomb() {
				invariant.Violated("key %v: a transaction that found it absent commits at %d, and %v is there",
					st.index.hash.boxed(key), e, w)
			}
			return
		}
		n := u.peekNext()
		if lost := u.lost.Load(); lost != 0 && epoch.Epoch(lost) < e {
			return
		}
		u = n
	}
}

// checkTaken: a state that comes out of the pool serves nobody, and remembers
// nothing.
func (st *txState) checkTaken() {
	st.idle.Store(0)
	if st.txWork == nil {
		return
	}
	rest := st.rareWork
	rare := st.isRare || rest.scanned || rest.looped || rest.revoked != 0 || rest.dirtied != 0 ||
		rest.saves != 0 || rest.since != 0 || rest.claim != nil || rest.extra.of != nil ||
		len(rest.undo)+len(rest.marks)+len(rest.after)+len(rest.ranges)+len(rest.pins)+
			len(rest.inOrder) > 0
	if len(st.writes) > 0 || len(st.reads) > 0 || st.absences() > 0 || st.hasRead || rare ||
		st.conflict != (conflict{}) || st.watch != nil || st.busy || st.byHash != nil ||
		st.schema != nil || len(st.more) > 0 {
		invariant.Violated("a pooled state remembers a transaction: %d writes, %d reads, %d absent, "+
			"read %v, rare %+v",
			len(st.writes), len(st.reads), st.absences(), st.hasRead, rest)
	}
}

// checkGiven: a state goes into the pool once for each time that it came out.
func (st *txState) checkGiven() {
	if st.idle.Swap(1) != 0 {
		invariant.Violated("a state is put into the pool that is there already")
	}
}
