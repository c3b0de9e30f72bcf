package mvcc

// An undone is what a savepoint puts back: write i was this.
type undone[K comparable, V any] struct {
	i   int
	was write[K, V]
}

// Savepoint calls fn and returns its error unchanged. If that is not nil, or fn panics or
// calls runtime.Goexit, what the transaction has written since the call began is undone, and
// so is what was given to [Tx.OnCommit]: the transaction goes on with what it had before. What it has read stays read,
// and may be a reason for a conflict. Savepoints nest; a loop over All that begins in one
// must end in it. If fn ends the transaction
// and returns nil, Savepoint returns [ErrTxDone], or [ErrTxTooOld] if it was evicted meanwhile. The cost is
// that of one note for each key that is written again; no write is copied.
func (tx Tx[K, V]) Savepoint(fn func() error) (err error) {
	tx.check()
	if fn == nil {
		panic("mvcc: Savepoint: fn is nil")
	}
	st := tx.st
	if st.up != nil {
		return Tx[none, none]{st.up, tx.gen}.Savepoint(fn)
	}
	st.enter()
	outer, was, after := st.since, st.mark(), len(st.after)
	var others []saved
	for _, p := range st.more {
		others = append(others, saved{p, p.mark()})
	}
	st.saves++
	st.setSavepoint(st.saves)
	st.leave()
	keep := false
	defer func() {
		if st.gen() != tx.gen { // else the state may be that of another one
			if keep {
				err = st.over(tx.gen)
			}
			return
		}
		st.enter()
		if !keep {
			st.restore(was)
			for _, p := range st.more {
				p.restore(markOf(others, p))
			}
			clear(st.after[after:])
			st.after = st.after[:after]
		}
		st.setSavepoint(outer)
		st.leave()
	}()
	err = fn()
	keep = err == nil
	return err
}

// save notes write i, which is about to be changed, for the innermost savepoint.
func (st *txState[K, V]) save(i int) {
	if w := &st.writes[i]; w.saved < st.since {
		st.undo = append(st.undo, undone[K, V]{i, *w})
		w.saved = st.since
	}
}

// A mark says how many writes and notes there were when a savepoint began.
type mark struct{ writes, undo int }

func (st *txState[K, V]) mark() mark { return mark{len(st.writes), len(st.undo)} }

// A saved is the mark of a part.
type saved struct {
	p part
	mark
}

// markOf returns the mark of p, which had nothing if it has joined since.
func markOf(list []saved, p part) mark {
	for i := range list {
		if list[i].p == p {
			return list[i].mark
		}
	}
	return mark{}
}

// setSavepoint makes number the innermost savepoint that is open, 0 for none.
func (st *txState[K, V]) setSavepoint(number uint32) {
	if st.since = number; number == 0 {
		clear(st.undo)
		st.undo = st.undo[:0]
	}
	for _, p := range st.more {
		p.setSavepoint(number)
	}
}

// restore makes the writes what they were at a mark, and the notes too.
func (st *txState[K, V]) restore(was mark) {
	n := was.writes
	for i := len(st.undo) - 1; i >= was.undo; i-- {
		st.writes[st.undo[i].i] = st.undo[i].was
	}
	clear(st.undo[was.undo:])
	st.undo = st.undo[:was.undo]
	for i := n; i < len(st.writes); i++ {
		if st.byKey != nil {
			delete(st.byKey, st.writes[i].v.key)
		}
		st.writes[i] = write[K, V]{}
	}
	st.writes = st.writes[:n]
	if n <= linearWrites {
		st.byKey = nil
	}
}
