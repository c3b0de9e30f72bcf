package mvcc

import (
	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// plainWrites is the most keys that a plain transaction may write. It is below installStride: so
// the owner of a plain transaction need not set its sign of progress.
const plainWrites = 4

// tryPlain is the first attempt to commit a plain transaction, which has read up to plainWrites
// keys and writes exactly these, without merges: so nothing is left to validate, see written. It
// does nothing, and returns tried as false, if the transaction is not plain, or if the usual does
// not hold: each version read is still the head of its key, neither it nor the version to write is
// a tombstone, and no table has an index. Otherwise it takes the steps of try in the same order, so
// the invariants are those of try. Some questions have known answers:
//
//   - the head is the version that was read, which is committed: so no key is compared, and nothing
//     else is covered. If the head was covered meanwhile, the CAS fails, or the cover was aborted;
//   - the record is never tentative: the linearization point is the CAS from announced to
//     committed;
//   - the number of keys stays.
//
// If a rival is faster after the first install, tryPlain withdraws the versions, and tryAgain goes
// on in the general way.
func (st *txState) tryPlain(gen epoch.Gen) (e epoch.Epoch, r result, tried bool) {
	work, slot := st.txWork, st.slot
	writes, reads, parts := work.writes, work.reads, work.parts
	if len(writes) > plainWrites || len(reads) != len(writes) || work.beyond {
		return 0, resultAborted, false
	}
	for i := range writes {
		w := &writes[i]
		if w.read <= 0 || w.merge != nil || w.b == nil {
			return 0, resultAborted, false
		}
		seen := reads[w.read-1].seen
		if w.at().Load() != seen || parts[w.of].m.schemaNow() != nil || // in this order: X2
			chain.Word(w.v.State.Load()|seen.State.Load())&chain.OwnMask != 0 {
			return 0, resultAborted, false
		}
	}
	if slot.Gen() != gen { // must follow the comparisons: see mayCover
		return 0, resultAborted, false
	}
	hooks.At(hooks.CommitEntries)
	says := chain.Word(0).Announced(0, 0)
	if len(writes) > 1 {
		slot.Open(uint64(chain.Special(chain.KindActive)))
		st.sortWrites()
		says = chain.Indirect(slot.Number())
	}
	work.installed, work.checks = 0, 0
	for i := range writes {
		w := &writes[i]
		v, seen, m := w.v, reads[w.read-1].seen, parts[w.of].m
		chain.SetWord(&v.State, says|m.cover(seen, chain.Load(&seen.State))<<chain.CountShift)
		chain.SetLink(&v.Next, seen)
		m.CheckOnTop(seen, seen, v)
		if !w.at().Cell().CompareAndSwap(seen, v) {
			if len(writes) == 1 {
				return 0, resultAborted, false
			}
			st.withdraw()
			return 0, resultAborted, true
		}
		work.installed++
		hooks.At(hooks.Installed)
	}
	hooks.At(hooks.InstalledAll)
	d := st.decidePlain(writes)
	if !d.Committed() {
		st.withdraw()
		return 0, resultAborted, true
	}
	st.conclude(gen, d.Epoch())
	return d.Epoch(), resultOK, true
}

// decidePlain announces and decides a plain transaction, whose writes are installed. It returns the
// decided word of the record: if this is not committed, the transaction is aborted.
func (st *txState) decidePlain(writes []write) (decided chain.Word) {
	m, record := st.m, &writes[0].v.State
	says := chain.Load(record)
	if len(writes) > 1 {
		if len(st.parts) > 1 || m.hasListeners() {
			st.tellAll() // must precede: from here on others may commit it
		}
		hooks.At(hooks.Told)
		record = st.slot.Record()
		active := chain.Load(record)
		says = active.Announced(st.slot.Epoch(), 0)
		if !active.Is(chain.KindActive) || !chain.Advance(record, active, says) {
			return active.Aborted()
		}
		hooks.At(hooks.JustAnnounced)
		hooks.At(hooks.Announced)
	} else if says.Committed() { // a helper has told and committed
		return says
	} else {
		hooks.At(hooks.Announced)
		if m := st.parts[writes[0].of].m; m.hasListeners() {
			m.tell(writes[0].v, record)
		}
		hooks.At(hooks.Told)
	}
	decided = says.Drawn(m.Slots.Next())
	hooks.At(hooks.Drawn)
	// Linearization point, unless a helper's CAS was.
	if chain.Advance(record, says, decided) {
		return decided
	}
	m.counters.Wasted.Add(1)
	return chain.Load(record)
}
