package mvcc_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

func TestObserve(t *testing.T) {
	for _, strict := range []bool{false, true} {
		t.Run(map[bool]string{false: "plain", true: "strict"}[strict], func(t *testing.T) {
			testObserve(t, strict)
		})
	}
}

func testObserve(t *testing.T, strict bool) {
	var told []mvcc.Attempt
	var around []string
	db := mvcc.NewDB(&mvcc.Options{Strict: strict, Observe: func(a mvcc.Attempt) {
		told = append(told, a)
	}, Around: func(ctx context.Context, tx, table string) (context.Context, func()) {
		around = append(around, tx+" in "+table)
		return ctx, nil
	}})
	defer db.Close()
	users := mvcc.NewTable[string, int](db, "users", nil)
	_, err := mvcc.NewIndex(users, "n", func(_ string, n int) []int { return []int{n} },
		&mvcc.IndexOptions{Unique: true})
	require.NoError(t, err)
	named := &mvcc.TxOptions{Name: "move"}
	last := func() mvcc.Attempt {
		t.Helper()
		require.NotEmpty(t, told)
		a := told[len(told)-1]
		told = nil
		require.True(t, a.Last)
		require.WithinDuration(t, time.Now(), a.Began, time.Minute)
		require.GreaterOrEqual(t, a.Took, time.Duration(0))
		require.GreaterOrEqual(t, a.Waited, time.Duration(0))
		return a
	}

	// One that commits, of the database and of a table with an index.
	require.NoError(t, db.Update(t.Context(), named, func(tx mvcc.DBTx) error {
		users.In(tx).Set("a", 1)
		return nil
	}))
	require.Len(t, told, 1)
	a := last()
	require.Equal(t, "move", a.Name)
	require.Equal(t, []string{"move in "}, around)
	require.Equal(t, t.Context(), a.Context)
	require.Equal(t, 1, a.Number)
	require.Equal(t, db.Epoch(), a.Epoch)
	require.NoError(t, a.Err)
	require.NoError(t, users.Update(t.Context(), nil, func(tx mvcc.Tx[string, int]) error {
		tx.Set("b", 2)
		return nil
	}))
	require.Len(t, told, 1)
	require.Equal(t, db.Epoch(), last().Epoch)

	require.Equal(t, []string{"move in ", " in users"}, around)

	// One that conflicts once.
	runs := 0
	require.NoError(t, users.Update(t.Context(), named, func(tx mvcc.Tx[string, int]) error {
		n, _ := tx.Get("a")
		if runs++; runs == 1 && !strict || runs == 2 && strict {
			other := make(chan bool)
			go func() { users.Store("a", 10); close(other) }()
			<-other
		}
		tx.Set("a", n+100)
		return nil
	}))
	require.Len(t, told, 2)
	require.False(t, told[0].Last)
	require.Equal(t, 1, told[0].Number)
	require.Zero(t, told[0].Epoch)
	var conflict *mvcc.ConflictError
	require.ErrorAs(t, told[0].Err, &conflict)
	require.Equal(t, "users", conflict.Table)
	require.Equal(t, "a", conflict.Key)
	a = last()
	require.Equal(t, 2, a.Number)
	require.NoError(t, a.Err)
	require.Equal(t, db.Epoch(), a.Epoch)

	// Those that fail, by an error, an index, a context, a panic, or an end of the goroutine.
	failed := errors.New("failed")
	require.Equal(t, failed, db.Update(t.Context(), nil, func(mvcc.DBTx) error { return failed }))
	require.Equal(t, failed, last().Err)
	err = users.Update(t.Context(), nil, func(tx mvcc.Tx[string, int]) error {
		tx.Set("c", 2)
		return nil
	})
	require.Equal(t, err, last().Err)
	require.ErrorAs(t, err, new(*mvcc.UniqueError))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, db.Update(ended, nil, func(mvcc.DBTx) error { return nil }), context.Canceled)
	require.Empty(t, told)
	require.PanicsWithValue(t, "oh", func() {
		_ = db.Update(t.Context(), nil, func(mvcc.DBTx) error { panic("oh") })
	})
	a = last()
	require.True(t, a.Panicked)
	require.NoError(t, a.Err)
	require.Zero(t, a.Epoch)
	done := make(chan bool)
	go func() {
		defer close(done)
		_ = db.Update(t.Context(), nil, func(mvcc.DBTx) error { runtime.Goexit(); return nil })
	}()
	<-done
	require.True(t, last().Panicked)

	// A transaction that has only read.
	at := db.Epoch()
	require.NoError(t, db.Update(t.Context(), nil, func(tx mvcc.DBTx) error {
		users.In(tx).Get("a")
		return nil
	}))
	require.Equal(t, at, last().Epoch)

	// Operations outside an Update are not observed.
	users.Store("d", 4)
	users.Clear()
	require.NoError(t, db.Reclaim(t.Context()))
	require.Empty(t, told)
}

// A hook that panics undoes nothing that was committed.
func TestObservePanics(t *testing.T) {
	m := mvcc.New[int, int](&mvcc.Options{Observe: func(mvcc.Attempt) { panic("hook") }})
	defer m.Close()
	require.PanicsWithValue(t, "hook", func() {
		_ = m.Update(t.Context(), nil, func(tx mvcc.Tx[int, int]) error {
			tx.Set(1, 1)
			return nil
		})
	})
	require.Equal(t, 1, m.Len())
	require.Zero(t, m.Stats().LiveTx)
	require.Zero(t, m.Stats().HeldClaims)
}

// Around is called before an Update, and its result after it, also if that panics: by itself,
// beside Observe, and with Strict. A panic of Around goes on, and leaves no transaction open.
func TestAround(t *testing.T) {
	for _, opts := range []mvcc.Options{{}, {Strict: true}, {Observe: func(mvcc.Attempt) {}}} {
		type place struct{}
		begun, ended := 0, 0
		misbehave := func() {}
		opts.Around = func(ctx context.Context, tx, table string) (context.Context, func()) {
			require.Equal(t, "name", tx)
			require.Empty(t, table)
			misbehave()
			begun++
			return context.WithValue(ctx, place{}, true), func() { ended++ }
		}
		m := mvcc.New[int, int](&opts)
		defer m.Close()
		set := func() error {
			return m.Update(t.Context(), &mvcc.TxOptions{Name: "name"}, func(tx mvcc.Tx[int, int]) error {
				n, _ := tx.Get(1)
				tx.Set(1, n+1)
				return nil
			})
		}
		require.NoError(t, set())
		require.Equal(t, 1, m.Len())

		require.PanicsWithValue(t, "oh", func() {
			_ = m.Update(t.Context(), &mvcc.TxOptions{Name: "name"}, func(mvcc.Tx[int, int]) error {
				panic("oh")
			})
		})
		require.Equal(t, 2, begun)
		require.Equal(t, 2, ended)
		misbehave = func() { panic("around") }
		require.PanicsWithValue(t, "around", func() { _ = set() })
		require.Zero(t, m.Stats().LiveTx)
	}
}
