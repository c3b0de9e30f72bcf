package mvcc

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A function that is in the way of its own call for ever ends in a panic, or in ErrConflict where
// there is an error to return, and leaves nothing behind.
func TestOwnKey(t *testing.T) {
	n := 0
	requireConflict := func(err error) { // and the value that the others panic with
		require.ErrorIs(t, err, ErrConflict)
		panic(errOwnKey)
	}
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
			requireConflict(m.Update(bg, nil, func(tx Tx[string, int]) error {
				tx.Merge("k", bump(m))
				tx.Merge("l", bump(m))
				return nil
			}))
		},
		"Tx.Merge and a read": func(m *Map[string, int]) {
			requireConflict(m.Update(bg, nil, func(tx Tx[string, int]) error {
				tx.Get("l")
				tx.Merge("k", bump(m))
				return nil
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := New[string, int](still())
				defer m.Close()
				m.Store("k", 1)
				require.PanicsWithValue(t, errOwnKey, func() { call(m) })
				time.Sleep(time.Minute)
				require.False(t, coreOf(m).favour.Any(), "a claim is left")
				require.NoError(t, m.Update(bg, nil, increment("k")))
				requireValue(t, n+1)(m.Load("k"))
				checkQuiet(t, m)
			})
		})
	}
}
