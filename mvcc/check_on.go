//go:build mvcccheck

package mvcc

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/invariant"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// The invariants of reads, commits and pooled states, evaluated in builds with the
// tag mvcccheck; see package invariant.

// checkRead checks v, the version of key that the transaction gen sees, or nil: a second walk has to
// find the same, and no version that the transaction may see may have been dropped. A snapshot that
// is closed meanwhile is not checked.
func (p *part) checkRead(gen epoch.Gen, key unsafe.Pointer, v *chain.Node) {
	st := p.st
	_, at := st.slot.Peek()
	var cut, found *chain.Node
	for u := p.index.PeekHead(key); u != nil; {
		if w := p.m.Peek(u); w.Committed() && w.Epoch() <= at {
			found = u
			break
		}
		p.m.CheckLink(u)
		n := u.PeekNext() // must precede the load of Lost, which a pruner stores first
		if lost := u.Lost.Load(); lost != 0 && epoch.Epoch(lost) <= at {
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
			p.index.Hash.Boxed(key), cut.Lost.Load(), p.m.Peek(cut), at)
	case found != v && !(found == nil && v.PeekState().Tomb()): // it may have left the index
		invariant.Violated("key %v as of %d: read once %s, read twice %s", p.index.Hash.Boxed(key), at,
			p.m.Describe(v), p.m.Describe(found))
	}
}

func (t *txn) checkRead(gen epoch.Gen, key unsafe.Pointer, v *chain.Node) {
	partOf(t).checkRead(gen, key, v)
}

// checkGet is checkRead for the goroutine that uses the transaction.
func (p *part) checkGet(key unsafe.Pointer, v *chain.Node) {
	gen, _ := p.st.slot.Peek()
	if p.st.slot.PeekEvicted() {
		return // evicted meanwhile: nothing is checked
	}
	p.checkRead(gen, key, v)
}

// checkCommit checks the premises of a commit at e, which has been published. The slot is still
// live.
func (st *txState) checkCommit(gen epoch.Gen, e epoch.Epoch) {
	st.slot.CheckLive(gen)
	_, at := st.slot.Peek()
	if now := st.m.Slots.PeekNow(); e <= at || e > now {
		invariant.Violated("a transaction that reads at %d commits at %d; the clock stands at %d", at, e,
			now)
	}
	for i := range st.writes {
		v, m := st.writes[i].v, st.parts[st.writes[i].of].m
		if w := m.Peek(v); !w.Committed() || w.Epoch() != e {
			invariant.Violated("key %v: a transaction commits at %d, its version says %v", m.KeyOf(v), e, w)
		}
		m.CheckLink(v)
		if base := v.PeekNext(); st.hasRead && st.level == LevelSnapshot && !st.writes[i].merges() &&
			base != nil && m.Peek(base).Epoch() > at {
			invariant.Violated("key %v: lost update: as of %d, committed at %d, over %s", m.KeyOf(v), at, e,
				m.Describe(base))
		}
	}
	if st.mustValidate() {
		st.checkReads(at, e)
	}
}

// checkReads checks that commit order is epoch order: a serializable transaction that read at epoch
// at would read the same versions at its commit epoch e. It goes by the versions known by now, not
// by the newest ones at validation.
func (st *txState) checkReads(at, e epoch.Epoch) {
	for i := range st.reads {
		seen, p := st.reads[i].seen, st.parts[st.reads[i].of]
		if !seen.PeekState().Tomb() {
			p.checkUnchanged(p.index.PeekHead(seen.Key()), p.m.Peek(seen).Epoch(), e)
		} else {
			p.checkAbsent(seen.Key(), e)
		}
	}
	for _, p := range st.parts {
		for i := range p.absences() {
			key, _ := p.absent.at(i)
			p.checkAbsent(key, e)
		}
		if p.scanned && st.level == LevelSerializable {
			p.index.PeekAll(func(h *chain.Node) { p.checkUnchanged(h, at, e) })
		}
		for i := range p.ranges {
			r := &p.ranges[i]
			p.index.PeekAll(func(h *chain.Node) {
				if p.m.order.Side(r, h.Key()) == 0 {
					p.checkUnchanged(h, at, e)
				}
			})
		}
	}
}

// checkUnchanged checks that the chain from h has no commit after epoch from and before e.
func (p *part) checkUnchanged(h *chain.Node, from, e epoch.Epoch) {
	for u := h; u != nil; u = u.PeekNext() {
		w := p.m.Peek(u)
		if !w.Committed() {
			continue
		}
		if w.Epoch() <= from {
			return
		}
		if w.Epoch() < e {
			invariant.Violated("key %v: a transaction that read it as of %d commits at %d, and %v came "+
				"between",
				p.m.KeyOf(u), from, e, w)
		}
	}
}

// checkAbsent checks that key was absent just before epoch e, as far as the versions that pruners
// have left tell.
func (p *part) checkAbsent(key unsafe.Pointer, e epoch.Epoch) {
	for u := p.index.PeekHead(key); u != nil; {
		if w := p.m.Peek(u); w.Committed() && w.Epoch() < e {
			if !u.PeekState().Tomb() {
				invariant.Violated("key %v: a transaction that found it absent commits at %d, and %v is there",
					p.index.Hash.Boxed(key), e, w)
			}
			return
		}
		n := u.PeekNext()
		if lost := u.Lost.Load(); lost != 0 && epoch.Epoch(lost) < e {
			return
		}
		u = n
	}
}

// checkTaken checks that a state that comes out of the pool serves nobody, and remembers nothing.
func (st *txState) checkTaken() {
	st.idle.Store(0)
	if st.txWork == nil {
		return
	}
	rest := st.rareWork
	rare := st.isRare || rest.looped || rest.revoked != 0 || rest.dirtied != 0 ||
		rest.saves != 0 || rest.since != 0 || rest.claim != nil || rest.extra.of != nil ||
		len(rest.undo)+len(rest.marks)+len(rest.after) > 0
	if len(st.writes) > 0 || len(st.reads) > 0 || st.hasRead || rare ||
		st.conflict != (conflict{}) || st.alarm != nil || st.busy || st.byHash != nil ||
		len(st.parts) != 1 || st.parts[0] != &st.own {
		invariant.Violated("a pooled state remembers a transaction: %d writes, %d reads, %d parts, "+
			"read %v, rare %+v",
			len(st.writes), len(st.reads), len(st.parts), st.hasRead, rest)
	}
	st.own.checkForgotten()
	for p := st.others.Load(); p != nil; p = p.next {
		p.checkForgotten()
	}
}

// checkForgotten checks that a part of a pooled state remembers nothing.
func (p *part) checkForgotten() {
	if p.partWork == nil {
		return
	}
	if p.number != 0 || p.hasWritten || p.schema != nil || p.absences() > 0 || p.grows != 0 || p.isRare ||
		p.scanned || p.counted || p.again || len(p.ranges)+len(p.notes)+len(p.inOrder)+p.ordered+len(p.gaps)+p.lookedAt > 0 {
		invariant.Violated("a part of a pooled state remembers a transaction: number %d, wrote %v, "+
			"%d absent, grows %d, %+v", p.number, p.hasWritten, p.absences(), p.grows, p.rarePart)
	}
}

// checkGiven checks that a state goes into the pool once for each time that it came out.
func (st *txState) checkGiven() {
	if st.idle.Swap(1) != 0 {
		invariant.Violated("a state is put into the pool that is there already")
	}
}
