package mvcc

import (
	"math/bits"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/chain"
	"github.com/mvccmap/mvccmap/internal/hooks"
)

// plainWrites is how many keys a plain transaction may write: so many stay in registers and L1, and
// no reader meets an active record for longer than installStride installs.
const plainWrites = 4

// isPlain reports whether the transaction has read up to plainWrites keys and writes these, and
// nothing else: so nothing is left to validate, see txState.written. No write merges.
func (st *txState) isPlain() bool {
	w := st.txWork
	n := len(w.writes)
	if n > plainWrites || len(w.reads) != n || w.beyond {
		return false
	}
	reads := uint8(0)
	for i := range w.writes {
		if one := &w.writes[i]; one.read <= 0 || one.merge != nil || one.b == nil {
			return false
		} else {
			reads |= 1 << (one.read - 1)
		}
	}
	return bits.OnesCount8(reads) == n
}

// tryPlain is the first try of a plain transaction, in one function. tried is false, and nothing has
// happened, where not all is as it nearly always is: each version that was read is the head of its
// key still, neither it nor the one to be written is a tombstone, and no table has an index.
// Otherwise it takes the steps of try in the same order, so the invariants are those of try. Some
// questions have known answers:
//
//   - the head is the version that was read, which is committed: no key is compared, and nothing
//     else is covered, since a head that has left its cell never comes back, and the CAS fails;
//   - the record is never tentative: the linearization point is the CAS from announced to committed;
//   - the number of keys stays.
//
// Where a rival was faster after the first install the versions are withdrawn, and tryAgain goes on
// in the general way.
func (st *txState) tryPlain(gen epoch.Gen) (e epoch.Epoch, r result, tried bool) {
	work, slot := st.txWork, st.slot
	writes, reads, parts := work.writes, work.reads, work.parts
	for i := range writes {
		w := &writes[i]
		seen := reads[w.read-1].seen
		if w.at().Load() != seen || parts[w.of].m.schemaNow() != nil || // in this order: X2
			chain.Word(w.v.State.Load()|seen.State.Load())&chain.OwnMask != 0 {
			return 0, resultAborted, false
		}
	}
	if slot.Gen() != gen { // must follow the comparisons, see mayCover
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
		if !w.at().Swap(seen, v) {
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
	if r = st.announce(st.epoch(), 0); r == resultOK {
		e, r = st.decide(gen)
	}
	if r != resultOK {
		st.withdraw()
		return 0, r, true
	}
	st.conclude(gen, e)
	return e, resultOK, true
}
