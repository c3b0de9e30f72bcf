package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Anomalies of writers among themselves: G0, and P4, the lost update.

// G0, dirty write. w1(x) w2(x) w2(y) c2 w1(y) c1: the two write x and y in
// different orders, and yet x and y never have values of different transactions.
func TestG0(t *testing.T) {
	for _, how := range []string{"blind", "after a read"} {
		t.Run(how, func(t *testing.T) {
			atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
				a, b := m.Begin(opts), m.Begin(opts)
				if how != "blind" {
					a.Get("z") // without any read it may take its commit for its begin
					b.Get("z")
				}
				a.Set("x", 1)
				b.Set("x", 2)
				b.Set("y", 2)
				require.NoError(t, b.Commit())
				between := m.Snapshot()
				defer between.Close()
				a.Set("y", 1)
				err := a.Commit()
				want := map[string]int{"x": 1, "y": 1}
				if how != "blind" && opts == snapshot {
					require.ErrorIs(t, err, ErrConflict, "x was written since a began")
					want = map[string]int{"x": 2, "y": 2}
				} else {
					require.NoError(t, err, "what was not read cannot be lost")
				}
				requireRead(t, between, map[string]int{"x": 2, "y": 2})
				requireNow(t, m, want)
				between.Close()
			})
		})
	}
	// The transaction's writes are one even when one of the keys is written by a
	// one-key operation in between: that comes before all of them.
	t.Run("one-key", func(t *testing.T) {
		byOneKey(t, overwrites, func(t *testing.T, m *Map[string, int], opts *TxOptions,
			set func(string, int)) {
			tx := m.Begin(opts)
			tx.Set("x", 1)
			set("x", 2)
			tx.Set("y", 1)
			requireNow(t, m, map[string]int{"x": 2, "y": 10})
			require.NoError(t, tx.Commit())
			requireNow(t, m, map[string]int{"x": 1, "y": 1})
			set("y", 3)
			requireNow(t, m, map[string]int{"x": 1, "y": 3})
		})
	})
}

// P4, lost update. r1(x) r2(x) w1(x) w2(x) c2 c1: 1 is refused, since it would
// overwrite what it has not seen.
func TestP4(t *testing.T) {
	// The levels of the two may differ.
	for _, second := range levels {
		t.Run("beside "+second.Isolation.String(), func(t *testing.T) {
			atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
				a, b := m.Begin(opts), m.Begin(second)
				x, _ := a.Get("x")
				a.Set("x", x+1)
				x, _ = b.Get("x")
				b.Set("x", x+1)
				require.NoError(t, b.Commit())
				requireConflict(t, a.Commit(), "x", ConflictRead, ConflictWrite)
				requireNow(t, m, map[string]int{"x": 11, "y": 10})
			})
		})
	}
	// The other one writes blindly, in one transaction with another key.
	t.Run("beside a blind write", func(t *testing.T) {
		atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
			a := m.Begin(opts)
			x, _ := a.Get("x")
			mustSet(t, m, opts, map[string]int{"x": 5, "y": 5})
			a.Set("x", x+1)
			requireConflict(t, a.Commit(), "x", ConflictRead, ConflictWrite)
			requireNow(t, m, map[string]int{"x": 5, "y": 5})
		})
	})
	// Update tries again, and nothing is lost.
	t.Run("Update", func(t *testing.T) {
		atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
			increment := func(tx Tx[string, int]) { x, _ := tx.Get("x"); tx.Set("x", x+1) }
			attempts := 0
			mustUpdate(t, m, opts, func(tx Tx[string, int]) {
				increment(tx)
				if attempts++; attempts == 1 {
					mustUpdate(t, m, opts, increment)
				}
			})
			require.Equal(t, 2, attempts)
			requireNow(t, m, map[string]int{"x": 12, "y": 10})
		})
	})
}

// P4 with a one-key operation in the place of either transaction.
func TestP4OneKey(t *testing.T) {
	// r1(x) w2(x) w1(x) c1, where 2 is one operation.
	for _, ways := range [][]oneKeyWrite{overwrites, removals} {
		byOneKey(t, ways, func(t *testing.T, m *Map[string, int], opts *TxOptions,
			set func(string, int)) {
			tx := m.Begin(opts)
			x, _ := tx.Get("x")
			set("x", 99)
			tx.Set("x", x+1)
			requireConflict(t, tx.Commit(), "x", ConflictRead, ConflictWrite)
			if x, ok := m.Load("x"); ok {
				require.Equal(t, 99, x, "the one-key write is lost")
			}
		})
	}
	// Two insert a key that both found absent.
	t.Run("absent", func(t *testing.T) {
		byOneKey(t, inserts, func(t *testing.T, m *Map[string, int], opts *TxOptions,
			set func(string, int)) {
			tx := m.Begin(opts)
			requireAbsent[int](t)(tx.Get("n"))
			set("n", 99)
			tx.Set("n", 1)
			requireConflict(t, tx.Commit(), "n", ConflictRead, ConflictWrite)
			requireNow(t, m, map[string]int{"x": 10, "y": 10, "n": 99})
		})
	})
	// The transaction commits in the middle of a Load and what follows it.
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		tx := m.Begin(opts)
		x, _ := m.Load("x")
		old, _ := tx.Get("x")
		tx.Set("x", old+1)
		requireAbsent[int](t)(tx.Get("n"))
		tx.Set("n", 1)
		require.NoError(t, tx.Commit())
		require.False(t, CompareAndSwap(m, "x", x, x+5), "CompareAndSwap overwrites what it has not seen")
		actual, loaded := m.LoadOrStore("n", 2)
		require.True(t, loaded, "LoadOrStore overwrites what it has not seen")
		require.Equal(t, 1, actual)
		requireValue(t, 11)(m.Swap("x", 20)) // a Swap loses nothing: it returns it
		requireValue(t, 20)(m.LoadAndDelete("x"))
		requireNow(t, m, map[string]int{"y": 10, "n": 1}, "x")
	})
}

// P4C, lost update with a cursor: the loop over All stands on x when another
// transaction, or one operation, updates x.
func TestP4C(t *testing.T) {
	others := append([]oneKeyWrite{{"Update", func(m *Map[string, int], key string, value int) bool {
		return m.Update(bg, nil, func(tx Tx[string, int]) error { tx.Set(key, value); return nil }) == nil
	}}}, overwrites...)
	byOneKey(t, others, func(t *testing.T, m *Map[string, int], opts *TxOptions,
		set func(string, int)) {
		tx := m.Begin(opts)
		for key, value := range tx.All() {
			if key == "x" {
				set("x", 99)
				requireValue(t, 10)(tx.Get("x"))
				tx.Set(key, value+1)
			}
		}
		err := tx.Commit()
		if opts == serializable {
			require.ErrorIs(t, err, ErrConflict)
		} else {
			requireConflict(t, err, "x", ConflictWrite)
		}
		requireNow(t, m, map[string]int{"x": 99, "y": 10})
	})
	// A Range that updates what it visits by CompareAndSwap.
	t.Run("Range", func(t *testing.T) {
		atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
			m.Range(func(key string, value int) bool {
				if key == "x" {
					mustSet(t, m, opts, map[string]int{"x": 99})
				}
				require.Equal(t, key != "x", CompareAndSwap(m, key, value, value+1))
				return true
			})
			requireNow(t, m, map[string]int{"x": 99, "y": 11})
		})
	})
}
