package etcdtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Observe is told of each attempt, with the key in the way, and Around is around all of them.
func TestObserved(t *testing.T) {
	t.Parallel()
	type key struct{}
	c, prefix := shared(t), newPrefix()
	var told []mvcc.Attempt
	depth, calls := 0, 0
	s := etcd.NewSchema(&mvcc.Options{
		Observe: func(a mvcc.Attempt) {
			require.Equal(t, 1, depth)
			told = append(told, a)
		},
		Around: func(ctx context.Context, tx, table string) (context.Context, func()) {
			depth++
			calls++
			require.Equal(t, []string{"transfer", ""}, []string{tx, table})
			return context.WithValue(ctx, key{}, calls), func() { depth-- }
		},
	})
	a := etcd.NewTable[string, int](s, "a", nil)
	p, err := tryOpen(t, c, prefix, func(cfg *etcd.Config) {
		cfg.Schema, cfg.MaxAttempts = s, 3
		received(cfg, func(context.Context, any) { time.Sleep(20 * time.Millisecond) }) // and the conflict is known
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	q := open(t, c, prefix, nil)
	// update runs a transaction that q is in the way of some times.
	update := func(conflicts int, end func() error) error {
		told = nil
		return p.Update(within(t), &mvcc.TxOptions{Name: "transfer"}, func(tx mvcc.DBTx) error {
			a.In(tx).Get("x")
			a.In(tx).Set("y", 1)
			if conflicts > 0 {
				conflicts--
				q.set(t, q.a, "x", conflicts)
			}
			return end()
		})
	}
	none := func() error { return nil }
	conflict := func(at mvcc.Attempt, attempts int) {
		t.Helper()
		var e *etcd.ConflictError
		require.ErrorAs(t, at.Err, &e)
		require.Equal(t, attempts, e.Attempts)
		require.Equal(t, "a", e.Table)
		require.Zero(t, at.Epoch)
	}
	require.NoError(t, update(1, none))
	require.Len(t, told, 2)
	conflict(told[0], 1)
	require.False(t, told[0].Last)
	last := told[1]
	require.NoError(t, last.Err)
	require.Equal(t, []any{"transfer", 2, true, p.Epoch(), 1}, []any{last.Name, last.Number, last.Last, last.Epoch,
		last.Context.Value(key{})})
	require.ErrorIs(t, update(5, none), mvcc.ErrConflict)
	require.Len(t, told, 3)
	conflict(told[2], 3)
	require.True(t, told[2].Last)
	mine := errors.New("mine")
	require.ErrorIs(t, update(0, func() error { return mine }), mine)
	require.Len(t, told, 1)
	require.Equal(t, mine, told[0].Err)
	require.PanicsWithValue(t, "mine", func() { _ = update(0, func() error { panic("mine") }) })
	require.Len(t, told, 1)
	require.True(t, told[0].Panicked && told[0].Last)
	require.Equal(t, 4, calls)
}
