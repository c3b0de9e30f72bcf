package mvcc

import (
	"context"
	"time"
)

// Update calls fn with a new transaction and commits it. If there is a conflict
// it rolls back, waits a little longer each time, and calls fn again: fn may run
// several times, and should have no effect but through its transaction. After a
// few conflicts it queues for the keys that it has read and written: when its turn
// comes, others that write one of them let it go first, each once, for four times as
// long as the attempt before took, from 10 ms to 100 ms and a microsecond for each key;
// after that it has to get through as any other. Writers of other keys are not
// concerned. An operation that fn makes on the map itself, not through its transaction,
// is not part of it, and may have to wait for the very transaction that fn runs in, if
// it writes a key of that.
//
// Update returns nil if a commit succeeded; fn's error, unchanged, if fn returned
// one, having rolled back; ctx's error if ctx has ended before an attempt, or while
// others abort its commit again and again; the
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
	b := bid{ctx: ctx, last: attempts == 1}
	ok, err := m.attempt(level, &b, fn, &c)
	if ok || err != nil {
		b.end()
		return err
	}
	return m.retry(level, attempts, &b, &c, fn)
}

// retry makes the second and all further attempts of Update.
func (m *Map[K, V]) retry(level Level, attempts int, b *bid, c *conflict[K], fn func(tx Tx[K, V]) error) error {
	defer b.end()
	for n := 1; n < attempts; n++ {
		if !b.wait() {
			backoff(n - 1)
		}
		if err := b.ctx.Err(); err != nil {
			return err
		}
		m.counters.retries.Add(1)
		b.began, b.last = time.Now(), n+1 == attempts
		if ok, err := m.attempt(level, b, fn, c); ok || err != nil {
			return err
		}
	}
	return c.err()
}

// attempt runs fn in a transaction once. It returns ok if it committed, an error
// if there is nothing to try again, and neither, having set c, after a conflict.
func (m *Map[K, V]) attempt(level Level, b *bid, fn func(tx Tx[K, V]) error, c *conflict[K]) (ok bool, err error) {
	st, gen := m.begin(level)
	st.trace(gen)
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
	switch st.commit(tx.gen, c, b) {
	case resultOK:
		return true, nil
	case resultEvicted:
		return false, ErrTxTooOld
	case resultGaveUp:
		return false, b.ctx.Err()
	}
	return false, nil
}
