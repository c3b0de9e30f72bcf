package mvcc

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/favour"
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
		"Update": {nil, get, func(m *Map[string, int]) error {
			return m.Update(bg, nil, increment("k"))
		}},
		"Update of several": {nil, get, func(m *Map[string, int]) error {
			return m.Update(bg, nil, func(tx Tx[string, int]) error {
				tx.Set("l", 1)
				return increment("k")(tx)
			})
		}},
		"Commit": {nil, get, func(m *Map[string, int]) error {
			tx := m.Begin(nil)
			tx.Set("k", 1)
			return tx.Commit()
		}},
		"a scan": {nil, scan, func(m *Map[string, int]) error { m.Store("l", 0); return nil }},
		"level snapshot": {snapshot, get, func(m *Map[string, int]) error {
			m.Store("own", 0)
			return nil
		}},
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
			require.False(t, coreOf(m).favour.Any())
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
		mustUpdate(t, m, nil, func(tx Tx[string, int]) {
			tx.Set("other", 1)
		})
		return increment("k")(tx)
	}))
	require.Equal(t, 6, calls)
	requireValue(t, 51)(m.Load("k"))
	requireValue(t, 7)(m.Load("unread"))
	require.False(t, coreOf(m).favour.Any())

	// Nor is a key that is written once the reason why others were in the way before.
	calls = 0
	mustUpdate(t, m, nil, func(tx Tx[string, int]) {
		_ = increment("k")(tx)
		lazy, ok := tx.Get("lazy")
		if calls++; calls <= 2 {
			elsewhere(func() { m.Store("k", calls) })
		} else if !ok {
			m.Store("lazy", lazy)
		}
	})
	require.Equal(t, 4, calls)

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
		require.False(t, coreOf(m).favour.Any(), "a suspect is left")
	}
	checkQuiet(t, m)
}

// An Update within one that is a suspect is one too; and letting others go first is no
// conflict.
func TestSuspects(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Map[string, int]) {
		outer, inner := 0, 0
		err := m.Update(bg, nil, func(tx Tx[string, int]) error {
			_ = increment("other")(tx)
			if outer++; outer <= 2 {
				elsewhere(func() { m.Store("other", outer) })
				return nil
			}
			return m.Update(bg, nil, func(tx Tx[string, int]) error {
				inner++
				_ = increment("k")(tx)
				m.Store("k", inner)
				return nil
			})
		})
		require.ErrorIs(t, err, ErrSelfConflict)
		require.Equal(t, 3, outer)
		require.Equal(t, 3, inner)
		require.False(t, coreOf(m).favour.Any())

		calls := 0
		var turn *favour.Claim
		mustUpdate(t, m, nil, func(tx Tx[string, int]) {
			tx.Get("l")
			m.Store("k", 0) // which is not read
			tx.Set("k", 1)
			if calls++; calls <= 3 {
				elsewhere(func() { turn.End(); turn = claimFor(m, favour.MinTenure, "k") })
			}
		})
		require.Equal(t, 4, calls)
		turn.End()
	})
}

// A function that is in the way of its own call for ever, and cannot be told by an error,
// ends in a panic, and leaves nothing behind.
func TestOwnKey(t *testing.T) {
	n := 0
	bump := func(m *Map[string, int]) func(int, bool) int {
		return func(old int, _ bool) int { n++; m.Store("k", n); return old }
	}
	for name, call := range map[string]func(m *Map[string, int]){
		"Compute": func(m *Map[string, int]) { m.Merge("k", bump(m)) },
		"Compute in Compute": func(m *Map[string, int]) {
			m.Merge("k", func(int, bool) int {
				n++
				m.Merge("k", func(int, bool) int { return n })
				return n
			})
		},
		"DeleteFunc": func(m *Map[string, int]) {
			m.DeleteFunc(func(string, int) bool { n++; m.Store("k", n); return true })
		},
		"Tx.Merge, alone": func(m *Map[string, int]) {
			_ = m.Update(bg, nil, func(tx Tx[string, int]) error { tx.Merge("k", bump(m)); return nil })
		},
		"Tx.Merge": func(m *Map[string, int]) {
			_ = m.Update(bg, nil, func(tx Tx[string, int]) error {
				tx.Merge("k", bump(m))
				tx.Merge("l", bump(m))
				return nil
			})
		},
		"Tx.Merge and a read": func(m *Map[string, int]) {
			_ = m.Update(bg, nil, func(tx Tx[string, int]) error {
				tx.Get("l")
				tx.Merge("k", bump(m))
				return nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := New[string, int](still())
				defer m.Close()
				m.Store("k", 1)
				require.PanicsWithValue(t, errOwnKey, func() { call(m) })
				time.Sleep(time.Minute)
				require.False(t, coreOf(m).favour.Any(), "a suspect, or a claim, is left")
				require.NoError(t, m.Update(bg, nil, increment("k")))
				requireValue(t, n+1)(m.Load("k"))
				checkQuiet(t, m)
			})
		})
	}
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
