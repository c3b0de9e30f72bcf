package mvcc

import (
	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// withdraw aborts the record, unless it is aborted already, and takes the installed versions off
// their chains, unless another goroutine has. No other goroutine can announce the record.
func (st *txState) withdraw() {
	chain.AbortRecord(st.record())
	st.retreat()
	if st.multi() {
		st.slot.Settle(0)
	}
}

// retreat is withdraw for a record that is aborted.
//
// A key that was made for this commit leaves the index. After many such keys, tend has to look
// whether the index has become too large.
func (st *txState) retreat() {
	multi := st.multi()
	for i := range st.writes[:st.installed] {
		w := &st.writes[i]
		if multi {
			w.v.PutOutcome(chain.Word(0).Aborted())
		}
		st.parts[w.of].m.takeOff(w.at(), w.hash, w.v)
	}
	if st.installed > largeBatch {
		st.m.gc.Wake()
	}
	st.installed = 0
	for _, p := range st.parts {
		p.grows = 0
	}
}

// unwind ends the transaction gen, whose commit a function of the user has left by a panic or by
// runtime.Goexit, which goes on. Nobody sees a write of gen, unless gen had committed, since a
// commit calls functions after that too. If gen had, unwind calls the functions given to OnCommit.
//
// The steps that others rely on come first, and call no function of the user. The steps after them
// may call some: if one panics again the rest is left undone, which costs a little memory.
func (st *txState) unwind(gen epoch.Gen) {
	st.claim.End()
	st.endAlarm()
	installed := st.installed > 0
	multi, after, outcome := st.multi(), st.after, chain.Word(0).Aborted()
	if w := chain.Load(st.record()); !multi && w.Committed() && w.Epoch() != 0 {
		installed = true // as a Store is
	}
	if installed || multi && !st.slot.Settled() {
		total := uint64(0)
		if w := st.m.AbortLeft(st.record()); w.Committed() {
			outcome, total = chain.Word(0).At(w.Epoch()), uint64(len(st.writes)-1)
		}
		st.putOutcomes(outcome)
		if multi && !st.slot.Settled() {
			st.slot.Settle(total)
		}
	}
	st.end(gen)
	st.settleStored(outcome.Committed())
	defer func() { // even if tidyAfter calls Goexit once more
		st.recycle(gen)
		if outcome.Committed() {
			quietly(func() { committed(after, outcome.Epoch()) })
		}
	}()
	quietly(func() { st.tidyAfter(outcome) })
}

// quietly calls f, and ends a panic of f: so the panic or Goexit that had begun before goes on. A
// Goexit in f goes on too: callers defer the steps that must follow.
func quietly(f func()) {
	defer func() { _ = recover() }()
	f()
}

// putOutcomes puts the outcome into the versions of the slot's record that do not have it yet, and
// counts keys.
func (st *txState) putOutcomes(outcome chain.Word) {
	for i := range st.writes {
		if v := st.writes[i].v; chain.Load(&v.State).Is(chain.KindIndirect) {
			v.PutOutcome(outcome)
		}
	}
	if outcome.Committed() {
		for _, p := range st.parts {
			p.countKeys()
		}
	}
}

// tidyAfter does the rest of the work of a commit that was left with the outcome.
func (st *txState) tidyAfter(outcome chain.Word) {
	if outcome.Committed() {
		for i := range st.writes[:st.installed] {
			w := &st.writes[i]
			st.parts[w.of].m.index.Ask(w.at(), w.hash, w.v.Key())
		}
	} else {
		st.retreat()
	}
}

// takeOff takes an aborted version off its chain, if it is the head of one.
func (m *core) takeOff(p index.Place, h uint64, v *chain.Node) {
	base := v.Next.Load()
	if base == nil {
		m.index.Remove(p, v)
		return
	}
	for head := v; head == v; p, head = m.index.Again(p, h, v.Key()) {
		if p.Swap(v, base) {
			// A pruner may have found a tombstone covered, and left it.
			if base.Tombstone() {
				m.index.Ask(p, h, v.Key())
			}
			return
		}
	}
}

// renew gives every write a version that nobody else has seen.
func (st *txState) renew() {
	for i := range st.writes {
		w := &st.writes[i]
		v := st.parts[w.of].m.types.clone(w.v)
		chain.SetWord(&v.State, chain.Load(&w.v.State)&chain.OwnMask)
		w.v = v
	}
}
