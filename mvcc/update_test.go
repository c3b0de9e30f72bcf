package mvcc

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

func TestUpdateReturnsErrorUnchanged(t *testing.T) {
	m := newMap[string, int](t, nil)
	mine := fmt.Errorf("mine: %w", ErrConflict) // even this one is not retried
	calls := 0
	err := m.Update(bg, nil, func(tx Tx[string, int]) error {
		calls++
		tx.Set("x", 1)
		return mine
	})
	require.True(t, err == mine)
	require.Equal(t, 1, calls)
	err = m.View(func(s Snapshot[string, int]) error { return mine })
	require.True(t, err == mine)
	require.Empty(t, contents(t, m))
	checkQuiet(t, m)
}

func TestUpdateRetries(t *testing.T) {
	for _, opts := range levels {
		m := newMap[string, int](t, nil)
		m.Store("x", 0)
		calls := 0
		mustUpdate(t, m, opts, func(tx Tx[string, int]) {
			x, _ := tx.Get("x")
			if calls++; calls <= 20 {
				elsewhere(func() { m.Store("x", 100*calls) })
			}
			tx.Set("x", x+1)
		})
		require.Equal(t, 21, calls)
		requireValue(t, 2001)(m.Load("x"))
		require.EqualValues(t, 20, m.Stats().Retries)
		require.EqualValues(t, 20, m.Stats().Conflicts)
		tx := m.Begin(nil) // the state that had a claim, most likely
		require.Nil(t, stateOf(tx.st).alarm)
		require.False(t, stateOf(tx.st).hasRead)
		tx.Rollback()
		checkQuiet(t, m)
	}
}

func TestUpdateGivesUp(t *testing.T) {
	for _, attempts := range []int{1, 2, bidLosses + 2, 0} {
		m := newMap[string, int](t, nil)
		m.Store("x", 0)
		calls := 0
		err := m.Update(bg, &TxOptions{MaxAttempts: attempts}, func(tx Tx[string, int]) error {
			calls++
			tx.Get("x")
			elsewhere(func() { m.Store("x", -calls) })
			tx.Set("y", 1)
			return nil
		})
		requireConflict(t, err, "x", ConflictRead)
		if attempts == 0 {
			attempts = DefaultMaxAttempts
		}
		require.Equal(t, attempts, calls)
		require.Equal(t, map[string]int{"x": -calls}, contents(t, m))
		checkQuiet(t, m)
	}
}

func TestUpdateContext(t *testing.T) {
	m := newMap[string, int](t, nil)
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(bg)
	calls := 0
	err := m.Update(ctx, nil, func(tx Tx[string, int]) error {
		calls++
		tx.Get("x")
		tx.Set("y", 1)
		elsewhere(func() { m.Store("x", calls) })
		if calls == 3 {
			cancel(cause)
		}
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, cause)
	requireConflict(t, err, "x", ConflictRead)
	require.Equal(t, 3, calls)
	err = m.Update(ctx, nil, func(tx Tx[string, int]) error { calls++; return nil })
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, cause)
	require.NotErrorIs(t, err, ErrConflict)
	require.Equal(t, 3, calls, "fn ran although ctx had ended")
	requireAbsent[int](t)(m.Load("y"))

	// A commit that succeeded returns nil, whatever became of ctx meanwhile.
	ctx, cancel2 := context.WithCancel(bg)
	require.NoError(t, m.Update(ctx, nil, func(tx Tx[string, int]) error {
		cancel2()
		tx.Set("y", 1)
		return nil
	}))
	requireValue(t, 1)(m.Load("y"))
	checkQuiet(t, m)
}

// fn may not end its transaction; if it does, Update says so and ends nobody
// else's.
func TestUpdateWhereFnEndsTransaction(t *testing.T) {
	for name, end := range map[string]func(tx Tx[string, int]){
		"Commit":   func(tx Tx[string, int]) { _ = tx.Commit() },
		"Rollback": func(tx Tx[string, int]) { tx.Rollback() },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMap[string, int](t, nil)
			var stranger Tx[string, int]
			err := m.Update(bg, nil, func(tx Tx[string, int]) error {
				tx.Set("x", 1)
				end(tx)
				for stranger = m.Begin(nil); stranger.st != tx.st; stranger = m.Begin(nil) {
					defer stranger.Rollback()
				}
				stranger.Set("y", 1)
				return nil
			})
			require.ErrorIs(t, err, ErrTxDone)
			_, ok := m.Load("x")
			require.Equal(t, name == "Commit", ok)
			require.NoError(t, stranger.Commit())
			requireValue(t, 1)(m.Load("y"))
		})
	}
}

func TestNestedTransactions(t *testing.T) {
	m := newMap[string, int](t, nil)
	require.NoError(t, m.Update(bg, nil, func(outer Tx[string, int]) error {
		outer.Set("outer", 1)
		if err := m.Update(bg, nil, func(inner Tx[string, int]) error {
			requireAbsent[int](t)(inner.Get("outer"))
			inner.Set("inner", 1)
			return nil
		}); err != nil {
			return err
		}
		return m.View(func(s Snapshot[string, int]) error {
			requireValue(t, 1)(s.Get("inner"))
			requireAbsent[int](t)(outer.Get("own"))
			return nil
		})
	}))
	require.Equal(t, map[string]int{"outer": 1, "inner": 1}, contents(t, m))
}

// exits are the ways to leave a callback without returning from it.
var exits = map[string]func(){
	"panic":     func() { panic("out") },
	"nil deref": func() { var p *int; *p = 1 },
	"Goexit":    runtime.Goexit,
}

// leave runs f in a goroutine that may panic or exit.
func leave(t *testing.T, f func()) {
	t.Helper()
	done := make(chan bool)
	go func() {
		returned := false
		defer func() {
			_ = recover()
			done <- returned
		}()
		f()
		returned = true
	}()
	require.False(t, stage.Await(t, done, "a callback that is left hangs"),
		"the panic or Goexit was swallowed")
}

// A call that may be made once says so in the function of an Update, and blames no name.
func TestOnceInUpdate(t *testing.T) {
	db := newDB(t, nil)
	m := NewTable[int, int](db, "numbers", nil)
	const again = "it is called in the function of an Update, which may run again"
	inUpdates := func(call func()) {
		requirePanicText(t, again, func() {
			_ = db.Update(bg, nil, func(DBTx) error { call(); return nil })
		})
		requirePanicText(t, again, func() {
			_ = m.Update(bg, nil, func(Tx[int, int]) error { deeper(300, call); return nil })
		})
	}
	makeIndex := func() { _, _ = NewIndex(m, "a", tagsOf, nil) }
	inUpdates(makeIndex)
	require.NoError(t, db.View(func(DBSnapshot) error { makeIndex(); return nil }))
	require.NoError(t, db.Update(bg, nil, func(tx DBTx) error {
		tx.OnCommit(func(uint64) {
			_, err := NewIndex(m, "late", tagsOf, nil)
			require.NoError(t, err)
		})
		return nil
	}))
	inUpdates(func() {
		tx := m.Begin(nil)
		tx.OnCommit(func(uint64) { makeIndex() })
		_ = tx.Commit()
	})

	m.Expire(func(int, int) time.Time { return time.Time{} })
	inUpdates(func() { m.Expire(func(int, int) time.Time { return time.Time{} }) })
	inUpdates(func() { NewTable[int, int](db, "numbers", nil) })
	require.PanicsWithValue(t, "mvcc: Expire: it was called before",
		func() { m.Expire(func(int, int) time.Time { return time.Time{} }) })
	require.PanicsWithValue(t, `mvcc: NewTable: there is a table "numbers" already`,
		func() { NewTable[int, int](db, "numbers", nil) })
}

// deeper calls f with so many frames in between.
func deeper(n int, f func()) {
	if n > 0 {
		deeper(n-1, f)
	} else {
		f()
	}
}
