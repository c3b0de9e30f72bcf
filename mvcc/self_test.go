package mvcc

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// A function that writes, on the map itself, what its transaction has read is told so at
// its third attempt, whichever way it does.
func TestSelfConflict(t *testing.T) {
	scan := func(tx Tx[string, int]) {
		for range tx.All() {
			continue
		}
	}
	get := func(tx Tx[string, int]) { tx.Get("k") }
	for name, c := range map[string]struct {
		opts *TxOptions
		read func(tx Tx[string, int])
		do   func(m *Map[string, int]) error
	}{
		"Store":   {nil, get, func(m *Map[string, int]) error { m.Store("k", 0); return nil }},
		"Compute": {nil, get, func(m *Map[string, int]) error { m.Merge("k", add(1)); return nil }},
		"CompareAndSwap": {nil, get, func(m *Map[string, int]) error {
			old, _ := m.Load("k")
			CompareAndSwap(m, "k", old, old+1)
			return nil
		}},
		"Update": {nil, get, func(m *Map[string, int]) error { return m.Update(bg, nil, increment("k")) }},
		"Update of several": {nil, get, func(m *Map[string, int]) error {
			return m.Update(bg, nil, func(tx Tx[string, int]) error { tx.Set("l", 1); return increment("k")(tx) })
		}},
		"Commit": {nil, get, func(m *Map[string, int]) error {
			tx := m.Begin(nil)
			tx.Set("k", 1)
			return tx.Commit()
		}},
		"a scan":         {nil, scan, func(m *Map[string, int]) error { m.Store("l", 0); return nil }},
		"level snapshot": {snapshot, get, func(m *Map[string, int]) error { m.Store("own", 0); return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMap[string, int](t, still())
			m.Store("k", 1)
			calls := 0
			err := m.Update(bg, c.opts, func(tx Tx[string, int]) error {
				calls++
				c.read(tx)
				tx.Set("own", calls)
				return c.do(m)
			})
			require.ErrorIs(t, err, ErrSelfConflict)
			require.NotErrorIs(t, err, ErrConflict, "trying again is in vain")
			require.Equal(t, 3, calls)
			var conflict *ConflictError
			require.ErrorAs(t, err, &conflict)
			require.Equal(t, 3, conflict.Attempts)
			require.Contains(t, err.Error(), "was written on the map itself, not through the transaction")
			require.False(t, m.favour.Any())
			checkQuiet(t, m)
		})
	}
}

// What others write, or what the function writes but has not read, is no such thing.
func TestNoSelfConflict(t *testing.T) {
	m := newMap[string, int](t, still())
	m.Store("k", 1)
	calls := 0
	require.NoError(t, m.Update(bg, nil, func(tx Tx[string, int]) error {
		if calls++; calls < 6 {
			defer elsewhere(func() { m.Store("k", 10*calls) })
		}
		m.Store("unread", calls)
		tx.Merge("unread", add(1))
		require.NoError(t, m.Update(bg, nil, func(tx Tx[string, int]) error { tx.Set("other", 1); return nil }))
		return increment("k")(tx)
	}))
	require.Equal(t, 6, calls)
	requireValue(t, 51)(m.Load("k"))
	requireValue(t, 7)(m.Load("unread"))
	require.False(t, m.favour.Any())

	// It does not matter how the function ends.
	for _, exit := range exits {
		calls = 0
		leave(t, func() {
			_ = m.Update(bg, nil, func(tx Tx[string, int]) error {
				tx.Get("k")
				tx.Set("x", 1)
				if calls++; calls == 4 {
					exit()
				}
				elsewhere(func() { m.Store("k", calls) })
				return nil
			})
		})
		require.False(t, m.favour.Any(), "a suspect is left")
	}
	checkQuiet(t, m)
}

// When a context ends amid conflicts, the error is all of it.
func TestContextEndsAmidConflicts(t *testing.T) {
	m := newMap[string, int](t, still())
	m.Store("k", 1)
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(bg)
	err := m.Update(ctx, nil, func(tx Tx[string, int]) error {
		tx.Get("k")
		elsewhere(func() { m.Store("k", 3) })
		cancel(cause)
		return increment("k")(tx)
	})
	for _, want := range []error{context.Canceled, cause, ErrConflict} {
		require.ErrorIs(t, err, want)
	}
	var c *ConflictError
	require.ErrorAs(t, err, &c)
	require.Equal(t, 1, c.Attempts)
	require.Equal(t, "context canceled: cause; "+c.Error(), err.Error())
	checkQuiet(t, m)
}
