package mvcc

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/internal/seam"
)

var background = context.Background()

// errGaveUp says that the context of an attempt has ended, and errIndexed that the table has
// indexes, so that a transaction has to be one of the database.
var (
	errGaveUp  = errors.New("mvcc: the context has ended")
	errIndexed = errors.New("mvcc: the table has indexes")
)

// Update calls fn with a new transaction and commits it. After a conflict it rolls back, waits, a
// little longer each time, and calls fn again. So fn should have no effect but through its
// transaction, see [Tx.OnCommit]. It must not change a value that it reads, see [Tx.Merge].
//
// Calls of fn on the map itself, such as [Map.Store] or another Update, are not part of the
// transaction. If one writes a key that the transaction has read, the write stays and the attempt
// conflicts, each time; Options.Strict tells of it. It may also wait for the transaction.
//
// After a few conflicts Update queues for the keys that it has read and written. In its turn other
// writers of these keys let it go first, each once. A turn lasts four times as long as the attempt
// before, but at least 10 ms, and at most 100 ms plus 10 µs for each key (of the whole table after
// a scan of it). The next turn is longer if the commit took long. Then Update has to get through as
// any other. Writers of other keys do not wait.
//
// Update returns
//
//   - nil after a commit;
//   - fn's error, unchanged, after a rollback;
//   - an error that wraps ctx's error, its cause, and the last [*ConflictError] if there was one,
//     if ctx has ended before an attempt, or while others abort the commit again and again;
//   - the last [*ConflictError] when TxOptions.MaxAttempts are used up;
//   - [ErrTxDone] if fn has ended the transaction;
//   - [ErrTxTooOld] if an attempt was evicted: it is the last.
//
// ctx must not be nil.
func (m *Map[K, V]) Update(ctx context.Context, opts *TxOptions, fn func(tx Tx[K, V]) error) error {
	checkContext("Update", ctx)
	if fn == nil {
		panic("mvcc: Update: fn is nil")
	}
	return m.engine().update(ctx, opts, func(tx DBTx) error { return fn(Tx[K, V](tx)) })
}

// UpdateValue is [Map.Update] for a function with a result: that of the committed attempt, or the
// zero value and an error.
func UpdateValue[K comparable, V, R any](
	ctx context.Context, m *Map[K, V], opts *TxOptions, fn func(tx Tx[K, V]) (R, error),
) (R, error) {
	if fn == nil {
		panic("mvcc: UpdateValue: fn is nil")
	}
	var result R
	err := m.Update(ctx, opts, func(tx Tx[K, V]) (err error) {
		result, err = fn(tx)
		return err
	})
	if err != nil {
		var none R
		return none, err
	}
	return result, nil
}

// update is [Map.Update], and [DB.Update]. fn gets the transaction of a table as a DBTx with the
// state of the table.
func (m *core) update(ctx context.Context, opts *TxOptions, fn func(tx DBTx) error) error {
	level, attempts := opts.level(m.level), opts.attempts()
	if ctx.Err() != nil {
		return endOf(ctx)
	}
	var look *seam.Looker
	var began time.Time
	if m.apart.Load() && !(opts != nil && opts.own) {
		if m.shared.around != nil && (opts == nil || !opts.inside) {
			return m.around(ctx, opts, fn)
		}
		if opts == nil || opts.seen == nil {
			if look = m.looker(); m.shared.observe != nil || look != nil && m.strict {
				return m.observed(ctx, opts, fn, look)
			}
			if look != nil {
				began = time.Now()
			}
		}
		if m.strict {
			return m.updateStrictly(ctx, opts, fn)
		}
	}
	var c conflict
	b := bid{ctx: ctx, last: attempts == 1, kind: opts.of()}
	ok, err := m.attempt(level, &b, fn, &c)
	if ok || err != nil {
		if b.claim != nil {
			b.end()
		}
		if ok && look != nil {
			look.Won(m.lookID(), opts.name(), b.epoch)
		}
		switch err {
		case errGaveUp:
			return endOf(ctx)
		case errIndexed:
			return m.updateIndexed(ctx, opts, fn)
		}
		return err
	}
	if opts != nil {
		b.seen, b.long = opts.seen, opts.long
	}
	if look != nil {
		err = m.retryBefore(look, began, opts.name(), level, attempts, &b, &c, fn)
	} else {
		err = m.retry(level, attempts, &b, &c, fn)
	}
	if err == errIndexed {
		return m.updateIndexed(ctx, opts, fn)
	}
	return err
}

// retry makes the second and all further attempts of Update.
func (m *core) retry(
	level Level, attempts int, b *bid, c *conflict, fn func(tx DBTx) error,
) error {
	defer b.end()
	m.noteLoss()
	for n := 1; n < attempts; n++ {
		if b.seen != nil {
			b.seen.end(c.err(n), false)
		}
		if !b.wait() {
			backoff(n - 1)
		}
		if b.ctx.Err() != nil {
			return fmt.Errorf("%w; %w", endOf(b.ctx), c.err(n))
		}
		m.counters.retries.Add(1)
		b.began, b.last = time.Now(), n+1 == attempts
		ok, err := m.attempt(level, b, fn, c)
		switch {
		case ok:
			return nil
		case err == errGaveUp:
			return fmt.Errorf("%w; %w", endOf(b.ctx), c.err(n))
		case err != nil:
			return err
		}
	}
	return c.err(attempts)
}

// endOf returns the error of ctx, which has ended, and its cause, if that is another one.
func endOf(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); cause != err {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// inUpdate reports whether the caller runs in the function of an Update, of whatever map or
// database, and not in one given to OnCommit, which is not called again. It walks over the stack:
// so it is only for calls that cannot be repeated.
func inUpdate() bool {
	var pcs [128]uintptr
	committing := false // the frame before is that of committed
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		frames := runtime.CallersFrames(pcs[:n])
		for more := n > 0; more; {
			var frame runtime.Frame
			frame, more = frames.Next()
			if !committing && strings.HasSuffix(frame.Function, "/mvcc.(*core).attempt") {
				return true
			}
			committing = strings.HasSuffix(frame.Function, "/mvcc.committed")
		}
		if n < len(pcs) {
			return false
		}
	}
}

// mayRunAgain returns why a function that may be called once is called again, if it is known.
func mayRunAgain() string {
	if inUpdate() {
		return ": it is called in the function of an Update, which may run again"
	}
	return ""
}

// attempt runs fn in a transaction once. It returns ok if the transaction committed, an error if
// there is nothing to try again, and neither, having set c, after a conflict. With 8 returns (for 2
// defers) the compiler would no longer put the deferred calls into attempt's code, and a
// transaction would take a tenth longer.
func (m *core) attempt(
	level Level, b *bid, fn func(tx DBTx) error, c *conflict,
) (ok bool, err error) {
	st, gen := m.begin(level, b.kind)
	st.trace(gen)
	tx := DBTx{&st.own.txn, gen}
	defer tx.Rollback()
	if m.indexed() { // must follow begin
		return false, errIndexed
	}
	if m.guarded {
		defer st.tooOld(tx.gen, &err)
	}
	if err = fn(tx); err != nil {
		return false, err
	}
	if st.gen() != tx.gen {
		return false, st.over(tx.gen)
	}
	if len(st.extra.of) > 0 {
		if err = st.extra.notUnique(tx); err != nil {
			return false, err
		}
	}
	st.enter() // until the state is used again
	after, wrote := st.after, len(st.writes) > 0
	switch e, r := st.commit(tx.gen, c, b); r {
	case resultOK:
		if wrote {
			b.epoch = uint64(e)
		}
		if after != nil {
			b.end() // the functions may wait for somebody who waits for the claim
			committed(after, e)
		}
		return true, nil
	case resultEvicted:
		err = ErrTxTooOld
	case resultGaveUp:
		err = errGaveUp
	}
	return false, err
}

// View calls fn, once, with a snapshot of the map, closes it, and returns fn's error unchanged, or
// [ErrTxTooOld] as [Snapshot.Try] does. It waits for no transaction, never conflicts, and allocates
// nothing itself.
func (m *Map[K, V]) View(fn func(s Snapshot[K, V]) error) error {
	if fn == nil {
		panic("mvcc: View: fn is nil")
	}
	if m.unguarded {
		s := m.at.open()
		defer s.Close()
		return fn(Snapshot[K, V](s))
	}
	return m.engine().view(func(s moment) error { return fn(Snapshot[K, V](s)) })
}
