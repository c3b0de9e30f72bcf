package mvcc

import (
	"fmt"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// Committing at an epoch that is given.
//
// Nobody else commits, so there is nothing to validate, and no rival; but readers must see all of a
// commit or nothing of it. Its record goes from active to an announced word that has the epoch in
// it, and from there to committed at that epoch, by whoever comes first:
//
//   - F1: the clock reaches the epoch after the word was announced, and before it is committed. So
//     a reader that finds the record active reads as of an earlier epoch, and passes over it; one
//     that reads as of this epoch or a later one finds it announced, and commits it itself; and a
//     reader that has found it committed reads as of this epoch from then on.
//   - F2: a goroutine that decides draws no epoch: the clock never passes one that is still to
//     come.
//
// A single version has its record in itself, and is installed announced.

// Apply commits the writes of fn, at an epoch.
func (r replicated) Apply(at uint64, fn any) (err error) {
	if now := r.root.Slots.Now(); epoch.Epoch(at) <= now {
		return fmt.Errorf("mvcc: a replica is to commit at epoch %d, and its clock stands at %d: somebody "+
			"else has committed", at, now)
	}
	st, gen := r.root.begin(LevelSerializable, forCall)
	tx := DBTx{&st.own.txn, gen}
	defer tx.Rollback()
	if r.root.guarded {
		defer st.tooOld(gen, &err)
	}
	if err := fn.(func(DBTx) error)(tx); err != nil {
		return err
	}
	if st.gen() != gen {
		return st.over(gen)
	}
	if err := st.extra.notUnique(tx); err != nil {
		return err
	}
	passed := at - uint64(r.root.Slots.Now()) // epochs that are no commit's
	if len(st.writes) == 0 {
		r.root.counters.Wasted.Add(passed)
		r.root.Slots.SkipTo(epoch.Epoch(at))
		return nil
	}
	r.root.counters.Wasted.Add(passed - 1)
	st.enter() // until the state is used again
	return st.commitAt(gen, epoch.Epoch(at))
}

// commitAt commits the transaction gen at the epoch at, which is above the clock. Whether it
// succeeds or not, it ends the transaction and recycles its state.
func (st *txState) commitAt(gen epoch.Gen, at epoch.Epoch) error {
	done := false
	defer func() {
		if !done {
			st.unwind(gen)
		}
	}()
	st.noteStored()
	st.prepare(0)
	if !st.multi() {
		record := st.record()
		chain.SetWord(record, chain.Load(record).Announced(at, chain.FixedBit))
	}
	r := st.installAll(gen)
	if r == resultOK && st.multi() {
		st.tellAll() // must precede: from here on others may commit it
		record := st.record()
		if w := chain.Load(record); !w.Is(chain.KindActive) ||
			!chain.Advance(record, w, w.Announced(at, chain.FixedBit)) {
			r = resultAborted
		}
	}
	if r == resultOK {
		hooks.At(hooks.Announced)
		r = st.decideAt(at)
	}
	if r != resultOK {
		st.withdraw()
		st.settleStored(false)
		st.end(gen)
		st.recycle(gen)
		done = true
		return fmt.Errorf("mvcc: a replica could not commit at epoch %d: somebody else has written", at)
	}
	hooks.At(hooks.Published)
	st.checkCommit(gen, at)
	st.end(gen)
	st.finalize(at)
	if st.m.views.Load().Due(at) {
		st.m.gc.RefreshPast(at, 0)
	}
	st.checkStored(true)
	st.recycle(gen)
	done = true
	return nil
}

// decideAt commits the announced transaction at its epoch, unless a reader has.
func (st *txState) decideAt(at epoch.Epoch) result {
	record := st.record()
	w := chain.Load(record)
	if !w.Fixed() {
		if w.Committed() && w.Epoch() == at {
			return resultOK
		}
		return resultAborted
	}
	if !st.multi() {
		if m := st.parts[st.writes[0].of].m; m.hasListeners() {
			m.tell(st.writes[0].v, record)
		}
	}
	hooks.At(hooks.Told)
	st.m.Slots.SkipTo(at) // F1
	hooks.At(hooks.Drawn)
	// Linearization point, unless a reader's CAS was.
	chain.Advance(record, w, w.At(at))
	return resultOK
}

// Skip says that the states after epoch above, up to epoch to, are not known.
func (r replicated) Skip(above, to uint64) {
	r.root.shared.past.unknown(epoch.Epoch(above), epoch.Epoch(to))
}
