package mvcctest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// The first attempts of an Update conflict as any other does, and the last one does not.
func TestConflicts(t *testing.T) {
	for _, c := range []struct{ conflicts, attempts, runs int }{
		{0, 0, 2}, {0, 2, 2}, {0, 1, 1}, {-1, 0, 1}, {3, 0, 4}, {3, 4, 4}, {3, 3, 3}, {3, 1, 1},
	} {
		db, users, orders := shop(Options(t, &Config{Conflicts: c.conflicts}))
		_, err := mvcc.NewIndex(orders, "by n", func(_, n int) []int { return []int{n} }, nil)
		require.NoError(t, err)
		orders.Store(1, 10)
		runs, committed := 0, 0
		add := func(tx txn) error {
			tx.OnCommit(func(uint64) { committed++ })
			n, _ := tx.Get(1)
			require.Equal(t, 10, n, "what conflicted is seen")
			runs++
			tx.Set(1, n+1)
			return nil
		}
		opts := &mvcc.TxOptions{MaxAttempts: c.attempts}
		for name, update := range map[string]func() error{
			"table":   func() error { return users.Update(bg, opts, add) },
			"indexed": func() error { return orders.Update(bg, opts, add) },
			"DB": func() error {
				return db.Update(bg, opts, func(tx mvcc.DBTx) error { return add(users.In(tx)) })
			},
			"value": func() error {
				_, err := mvcc.UpdateValue(bg, users, opts, func(tx txn) (int, error) { return 1, add(tx) })
				return err
			},
			"snapshot": func() error {
				opts := &mvcc.TxOptions{MaxAttempts: c.attempts, Isolation: mvcc.LevelSnapshot}
				return users.Update(bg, opts, add)
			},
		} {
			users.Store(1, 10)
			orders.Store(1, 10)
			runs, committed = 0, 0
			before := db.Stats()
			require.NoError(t, update(), name)
			require.Equal(t, c.runs, runs, "%s %+v", name, c)
			require.Equal(t, 1, committed, name)
			since := db.Stats()
			require.EqualValues(t, runs-1, since.Conflicts-before.Conflicts, name)
			require.EqualValues(t, runs-1, since.Retries-before.Retries, name)
			require.EqualValues(t, 1, since.Commits-before.Commits, name)
		}
		db.Close()
	}
}

// A transaction that could not conflict runs again, and is no conflict.
func TestRunsAgainWithoutConflict(t *testing.T) {
	db, users, _ := shop(Options(t, nil))
	defer db.Close()
	for name, do := range map[string]func(tx txn){
		"reads":  func(tx txn) { tx.Get(1) },
		"writes": func(tx txn) { tx.Set(2, 2) },
	} {
		runs := 0
		require.NoError(t, users.Update(bg, nil, func(tx txn) error { runs++; do(tx); return nil }))
		require.Equal(t, 2, runs, name)
	}
	require.Zero(t, db.Stats().Conflicts)
	require.Zero(t, db.Stats().Retries)
}

// The return of the function, or its other way out, is that of the attempt that ends so.
func TestFunctionEnds(t *testing.T) {
	db, users, _ := shop(Options(t, &Config{Conflicts: 2}))
	defer db.Close()
	failed, runs := errors.New("failed"), 0
	for _, at := range []int{1, 2, 3} {
		runs = 0
		require.Equal(t, failed, users.Update(bg, nil, func(tx txn) error {
			tx.Get(1)
			tx.Set(1, 0)
			if runs++; runs == at {
				return failed
			}
			return nil
		}))
		require.Equal(t, at, runs)
	}
	// An error of the function is left alone, also if it is a conflict of another Update.
	other := &mvcc.ConflictError{Attempts: 7}
	require.Same(t, other, users.Update(bg, nil, func(tx txn) error {
		if runs++; runs%3 == 0 {
			return other
		}
		tx.Get(1)
		tx.Set(1, 0)
		return nil
	}))
	require.Equal(t, 7, other.Attempts)
	err := users.Update(bg, nil, func(tx txn) error { return tx.Commit() })
	require.ErrorIs(t, err, mvcc.ErrTxDone)
	require.PanicsWithValue(t, "oh", func() {
		_ = users.Update(bg, nil, func(tx txn) error { tx.Set(1, 0); panic("oh") })
	})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = users.Update(bg, nil, func(tx txn) error { tx.Set(1, 0); runtime.Goexit(); return nil })
	})
	wg.Wait()
	n, _ := users.Get(1)
	require.Equal(t, 10, n)
	require.Zero(t, db.Stats().LiveTx)

	ctx, cancel := context.WithCancel(bg)
	err = users.Update(ctx, nil, func(tx txn) error {
		n, _ := tx.Get(1)
		tx.Set(1, n)
		cancel()
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, mvcc.ErrConflict)
}

// A conflict of others counts with those of the trial.
func TestConflictOfOthers(t *testing.T) {
	db, users, _ := shop(Options(t, nil))
	defer db.Close()
	runs := 0
	err := users.Update(bg, &mvcc.TxOptions{MaxAttempts: 4}, func(tx txn) error {
		runs++
		n, _ := tx.Get(1)
		var wg sync.WaitGroup
		wg.Go(func() { users.Store(1, n+1) })
		wg.Wait()
		tx.Set(1, 0)
		return nil
	})
	var conflict *mvcc.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, 4, conflict.Attempts)
	require.Equal(t, 4, runs)
	require.EqualValues(t, 4, db.Stats().Conflicts)
}

// With a chance of 1 all that could conflict does, and returns it.
func TestChance(t *testing.T) {
	db, users, orders := shop(Options(t, &Config{Chance: 1, Conflicts: -1}))
	defer db.Close()
	for _, attempts := range []int{1, 2, 5} {
		runs := 0
		err := db.Update(bg, &mvcc.TxOptions{MaxAttempts: attempts}, func(tx mvcc.DBTx) error {
			runs++
			n, _ := users.In(tx).Get(1)
			orders.In(tx).Set(2, n)
			return nil
		})
		var conflict *mvcc.ConflictError
		require.ErrorAs(t, err, &conflict)
		require.Equal(t, attempts, runs)
		require.Equal(t, attempts, conflict.Attempts)
		require.Equal(t, "orders", conflict.Table)
		require.Equal(t, 2, conflict.Key)
	}
	require.False(t, orders.Has(2))
	runs := 0
	require.NoError(t, users.Update(bg, nil, func(tx txn) error { runs++; tx.Get(1); return nil }))
	require.NoError(t, users.Update(bg, nil, func(tx txn) error { runs++; tx.Set(3, 3); return nil }))
	require.Equal(t, 2, runs)
	require.True(t, users.Has(3))

	tx := users.Begin(nil)
	n, _ := tx.Get(1)
	tx.Set(1, n+1)
	require.ErrorIs(t, tx.Commit(), mvcc.ErrConflict)
	tx = users.Begin(nil)
	tx.Set(4, 4)
	require.NoError(t, tx.Commit())
}

// The same seed has the same conflicts.
func TestSeed(t *testing.T) {
	pattern := func(seed uint64) (runs []int) {
		db, users, _ := shop(Options(t, &Config{Chance: 0.5, Conflicts: 1, Seed: seed}))
		defer db.Close()
		for range 64 {
			n := 0
			require.NoError(t, users.Update(bg, nil, func(tx txn) error {
				n++
				old, _ := tx.Get(1)
				tx.Set(1, old+1)
				return nil
			}))
			require.Greater(t, n, 1)
			runs = append(runs, n)
		}
		n, _ := users.Get(1)
		require.Equal(t, 10+64, n)
		return runs
	}
	require.Equal(t, pattern(0), pattern(0))
	require.NotEqual(t, pattern(0), pattern(1))
	require.Contains(t, pattern(0), 2)
	require.Contains(t, pattern(0), 4)
}

// Of the commits by hand every eighth conflicts without a chance.
func TestByHand(t *testing.T) {
	db, users, _ := shop(Options(t, nil))
	defer db.Close()
	for range 16 {
		tx := users.Begin(nil)
		n, _ := tx.Get(1)
		tx.Set(1, n+1)
		if err := tx.Commit(); err != nil {
			require.ErrorIs(t, err, mvcc.ErrConflict)
		}
	}
	require.EqualValues(t, 2, db.Stats().Conflicts)
}
