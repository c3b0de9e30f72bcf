package mvcc

import "context"

// updatePriority is after how many conflicts Update goes into priority mode.
const updatePriority = 6

// Update calls fn with a new transaction and commits it. If there is a conflict
// it rolls back, waits a little longer each time, and calls fn again: fn may run
// several times, and should have no effect but through its transaction. After a
// few conflicts it does so in priority mode: committers of the map let it go
// first for as long as it keeps moving. An operation that fn makes on the map
// itself, not through its transaction, is not part of it, and may have to wait
// some milliseconds for the very transaction that fn runs in.
//
// Update returns nil if a commit succeeded; fn's error, unchanged, if fn returned
// one, having rolled back; ctx's error if ctx has ended before an attempt; the
// last *[ConflictError] when TxOptions.MaxAttempts are used up; [ErrTxDone] if fn
// itself has ended the transaction; and [ErrTxTooOld], without another attempt, if
// one became older than Options.MaxTxAge. If fn panics or calls runtime.Goexit
// the transaction is rolled back, and that goes on. ctx must not be nil; opts
// may be.
//
// The transaction must not be used after fn has returned.
func (m *Map[K, V]) Update(ctx context.Context, opts *TxOptions, fn func(tx Tx[K, V]) error) error {
	level, attempts := opts.level(m.level), opts.attempts()
	if err := ctx.Err(); err != nil {
		return err
	}
	var c conflict[K]
	ok, err := m.attempt(level, 0, fn, &c)
	if ok || err != nil {
		return err
	}
	return m.retry(ctx, level, attempts, &c, fn)
}

// retry makes the second and all further attempts of Update.
func (m *Map[K, V]) retry(ctx context.Context, level Level, attempts int, c *conflict[K], fn func(tx Tx[K, V]) error) error {
	ticket := uint64(0)
	defer func() { m.priority.release(ticket) }()
	for n := 1; n < attempts; n++ {
		if n >= updatePriority {
			ticket = m.priority.renew(ctx, ticket)
		}
		if ticket == 0 {
			backoff(n - 1)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		m.counters.retries.Add(1)
		if ok, err := m.attempt(level, ticket, fn, c); ok || err != nil {
			return err
		}
	}
	return c.err()
}

// attempt runs fn in a transaction once. It returns ok if it committed, an error
// if there is nothing to try again, and neither, having set c, after a conflict.
func (m *Map[K, V]) attempt(level Level, ticket uint64, fn func(tx Tx[K, V]) error, c *conflict[K]) (ok bool, err error) {
	st, gen := m.begin(level)
	st.ticket = ticket
	if m.tracePins {
		st.trace(gen)
	}
	tx := Tx[K, V]{st, gen}
	defer tx.Rollback()
	if m.guarded {
		defer st.tooOld(tx.gen, &err)
	}
	if err = fn(tx); err != nil {
		return false, err
	}
	if st.gen() != tx.gen {
		return false, st.over(tx.gen)
	}
	st.enter() // until the state is used again
	if ok = st.commit(tx.gen, c); !ok && c.kind == conflictEvicted {
		err = ErrTxTooOld
	}
	return ok, err
}
