package mvcc

import "slices"

// An undone is the former content of write i, for the way back to a savepoint.
type undone struct {
	i   int
	was write
}

// Savepoint calls fn and returns its error unchanged. If that is not nil, or fn panics or calls
// runtime.Goexit, the writes of the call, in all tables, and its functions for [Tx.OnCommit] are
// undone. Its reads stay in the read set. Savepoints nest; a loop over All or a range that begins
// in a savepoint must end in it. If fn ends the transaction and returns nil, Savepoint returns
// [ErrTxDone], or [ErrTxTooOld] if it was evicted. It costs one note for each key that is written
// again.
func (tx Tx[K, V]) Savepoint(fn func() error) (err error) { return DBTx(tx).Savepoint(fn) }

// Savepoint is [Tx.Savepoint] over all tables.
func (tx DBTx) Savepoint(fn func() error) (err error) {
	tx.check()
	if fn == nil {
		panic("mvcc: Savepoint: fn is nil")
	}
	st := stateOf(tx.st)
	st.enter()
	outer, after := st.since, len(st.after)
	st.beginSavepoint()
	st.leave()
	keep := false
	defer func() {
		if st.gen() != tx.gen { // else the state may serve another transaction
			if keep {
				err = st.over(tx.gen)
			}
			return
		}
		st.enter()
		if !keep {
			clear(st.after[after:])
			st.after = st.after[:after]
		}
		st.endSavepoint(outer, keep)
		st.leave()
	}()
	err = fn()
	keep = err == nil
	return err
}

// save notes write i, which is about to be changed, for the innermost savepoint.
func (st *txState) save(i int) {
	if w := &st.writes[i]; w.saved < st.since {
		rare := st.rare()
		rare.undo = append(rare.undo, undone{i, *w})
		w.saved = st.since
	}
}

// A mark has the numbers of writes and notes when a savepoint began, and the records that were in
// the way of unique indexes then.
type mark struct {
	writes, undo int
	extra        map[extraKey][]any
}

// beginSavepoint makes the next savepoint the innermost one that is open.
func (st *txState) beginSavepoint() {
	rare := st.rare()
	rare.saves++
	rare.since = rare.saves
	rare.marks = append(rare.marks, mark{len(st.writes), len(st.undo), rare.extra.share()})
}

// endSavepoint ends the innermost savepoint; outer is the number of the one around it, or 0. Unless
// keep is set it undoes the writes since the savepoint began.
func (st *txState) endSavepoint(outer uint32, keep bool) {
	was := st.marks[len(st.marks)-1]
	st.marks = st.marks[:len(st.marks)-1]
	if !keep {
		st.restore(was)
	}
	if st.since = outer; outer == 0 {
		clear(st.undo)
		st.undo = st.undo[:0]
	}
}

// restore puts the writes, and the notes, back into their state at a mark.
func (st *txState) restore(was mark) {
	n := was.writes
	if len(st.loops) > 0 {
		st.copyOwn()
	}
	st.extra.restore(was.extra)
	for i := len(st.undo) - 1; i >= was.undo; i-- {
		st.writes[st.undo[i].i] = st.undo[i].was
	}
	clear(st.undo[was.undo:])
	st.undo = st.undo[:was.undo]
	for _, p := range st.parts {
		p.hasWritten = p.hasWritten && n > 0
		p.gaps, p.revived, p.lookedAt = nil, nil, min(p.lookedAt, n)
		if p.ordered > n {
			p.inOrder = slices.DeleteFunc(p.inOrder, func(i int32) bool { return int(i) >= n })
			p.ordered = n
		}
	}
	if st.byHash != nil {
		for i := len(st.writes) - 1; i >= n; i-- {
			st.unlist(i)
		}
	}
	for i := n; i < len(st.writes); i++ {
		st.writes[i] = write{}
	}
	st.writes = st.writes[:n]
	if n <= linearWrites {
		st.byHash = nil
	}
}
