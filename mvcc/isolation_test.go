package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The anomalies below have the names of Adya ("Weak Consistency: A Generalized
// Theory and Optimistic Implementations for Distributed Transactions", 1999) and
// Berenson et al. ("A Critique of ANSI SQL Isolation Levels", SIGMOD 1995). Each
// test is one schedule of two or three transactions, run by one goroutine.

// atLevels runs a test at both levels, on a map with x = y = 10.
func atLevels(t *testing.T, f func(t *testing.T, m *Map[string, int], opts *TxOptions)) {
	for _, opts := range levels {
		t.Run(opts.Isolation.String(), func(t *testing.T) {
			m := newMap[string, int](t, nil)
			m.Store("x", 10)
			m.Store("y", 10)
			f(t, m, opts)
			checkQuiet(t, m)
		})
	}
}

func TestDirtyRead(t *testing.T) { // G1a, G1b
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		w := m.Begin(opts)
		w.Set("x", 11)
		w.Set("new", 1)
		w.Delete("y")
		r := m.Begin(opts)
		see := func() {
			t.Helper()
			requireValue(t, 10)(r.Get("x"))
			requireValue(t, 10)(r.Get("y"))
			requireAbsent[int](t)(r.Get("new"))
			requireValue(t, 10)(m.Load("x"))
			requireAbsent[int](t)(m.Load("new"))
		}
		see()
		w.Set("x", 12)
		see()
		w.Rollback()
		see()
		require.NoError(t, r.Commit())
		require.Equal(t, map[string]int{"x": 10, "y": 10}, contents(t, m))
	})
}

func TestReadSkew(t *testing.T) { // G-single, non-repeatable and fuzzy reads
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		r := m.Begin(opts)
		s := m.Snapshot()
		requireValue(t, 10)(r.Get("x"))
		require.NoError(t, m.Update(bg, opts, func(tx Tx[string, int]) error {
			tx.Set("x", 5)
			tx.Set("y", 15)
			tx.Set("z", 1)
			return nil
		}))
		for range 2 {
			requireValue(t, 10)(r.Get("y"))
			requireValue(t, 10)(r.Get("x"))
			requireAbsent[int](t)(r.Get("z"))
			requireValue(t, 10)(s.Get("y"))
			requireAbsent[int](t)(s.Get("z"))
			prune(m)
		}
		require.NoError(t, r.Commit(), "a transaction that wrote nothing conflicts")
		s.Close()
	})
}

func TestLostUpdate(t *testing.T) { // P4
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		a, b := m.Begin(opts), m.Begin(opts)
		x, _ := a.Get("x")
		a.Set("x", x+1)
		x, _ = b.Get("x")
		b.Set("x", x+1)
		require.NoError(t, b.Commit())
		requireConflict(t, a.Commit(), "x", ConflictRead, ConflictWrite)
		requireValue(t, 11)(m.Load("x"))
	})
}

func TestLostUpdateByStore(t *testing.T) {
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		for name, write := range map[string]func(){
			"Store":         func() { m.Store("x", 99) },
			"Swap":          func() { m.Swap("x", 99) },
			"Delete":        func() { m.Delete("x") },
			"LoadAndDelete": func() { m.LoadAndDelete("x") },
			"CompareAndSwap": func() {
				x, _ := m.Load("x")
				require.True(t, CompareAndSwap(m, "x", x, 99))
			},
		} {
			m.Store("x", 10)
			tx := m.Begin(opts)
			x, _ := tx.Get("x")
			tx.Set("x", x+1)
			write()
			requireConflict(t, tx.Commit(), "x", ConflictRead, ConflictWrite)
			x, ok := m.Load("x")
			require.True(t, !ok || x == 99, "%s was lost", name)
		}
	})
}

func TestWriteSkew(t *testing.T) { // A5B, G2-item
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		a, b := m.Begin(opts), m.Begin(opts)
		for _, tx := range []Tx[string, int]{a, b} {
			requireValue(t, 10)(tx.Get("x"))
			requireValue(t, 10)(tx.Get("y"))
		}
		a.Set("x", -10)
		b.Set("y", -10)
		require.NoError(t, a.Commit())
		err := b.Commit()
		if opts == serializable {
			requireConflict(t, err, "x", ConflictRead)
			requireValue(t, 10)(m.Load("y"))
		} else {
			require.NoError(t, err, "write skew is allowed at this level")
		}
	})
}

func TestReadOnlyAnomaly(t *testing.T) {
	// Fekete, O'Neil, O'Neil: "A Read-Only Transaction Anomaly Under Snapshot
	// Isolation", SIGMOD Record 33(3), 2004: x checking, y savings.
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		m.Store("x", 0)
		m.Store("y", 0)
		withdraw, deposit := m.Begin(opts), m.Begin(opts)
		x, _ := withdraw.Get("x")
		y, _ := withdraw.Get("y")
		deposit.Get("y")
		deposit.Set("y", 20)
		require.NoError(t, deposit.Commit())

		report := m.Begin(opts)
		requireValue(t, 0)(report.Get("x"))
		requireValue(t, 20)(report.Get("y"))
		require.NoError(t, report.Commit())

		require.Negative(t, x+y-10)
		withdraw.Set("x", x-11) // with the charge for an overdraft
		err := withdraw.Commit()
		if opts == serializable {
			requireConflict(t, err, "y", ConflictRead)
		} else {
			require.NoError(t, err)
		}
	})
}

func TestPhantomByAbsentKey(t *testing.T) { // G2
	for name, insert := range map[string]func(m *Map[string, int]){
		"Store":       func(m *Map[string, int]) { m.Store("p", 1) },
		"LoadOrStore": func(m *Map[string, int]) { m.LoadOrStore("p", 1) },
		"Update": func(m *Map[string, int]) {
			_ = m.Update(bg, nil, func(tx Tx[string, int]) error { tx.Set("p", 1); tx.Set("q", 1); return nil })
		},
	} {
		for _, was := range []string{"never there", "deleted", "deleted, pending reclaim"} {
			t.Run(name+"/"+was, func(t *testing.T) {
				atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
					if was != "never there" {
						m.Store("p", 0)
						m.Delete("p")
					}
					if was == "deleted" {
						prune(m)
					}
					tx := m.Begin(opts)
					requireAbsent[int](t)(tx.Get("p"))
					tx.Set("count", 0)
					insert(m)
					requireAbsent[int](t)(tx.Get("p"))
					err := tx.Commit()
					if opts == serializable {
						requireConflict(t, err, "p", ConflictRead)
					} else {
						require.NoError(t, err)
					}
				})
			})
		}
	}
}

func TestAbsentKeyThatStaysAbsentIsNoConflict(t *testing.T) {
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		m.Store("deleted", 0)
		m.Delete("deleted")
		tx := m.Begin(opts)
		requireAbsent[int](t)(tx.Get("never"))
		requireAbsent[int](t)(tx.Get("deleted"))
		tx.Set("count", 0)
		m.Store("other", 1)
		prune(m) // the deleted key's entry leaves the index
		require.NoError(t, tx.Commit())
	})
}

func TestPhantomByScan(t *testing.T) { // P3, G2
	type scan = func(tx Tx[string, int])
	all := func(tx Tx[string, int]) {
		for range tx.All() {
		}
	}
	first := func(tx Tx[string, int]) {
		for range tx.All() {
			break
		}
	}
	for name, look := range map[string]scan{"whole": all, "stopped early": first} {
		for change, write := range map[string]func(m *Map[string, int]){
			"insert": func(m *Map[string, int]) { m.Store("p", 1) },
			"update": func(m *Map[string, int]) { m.Store("x", 1) },
			"delete": func(m *Map[string, int]) { m.Delete("x") },
			"insert and delete": func(m *Map[string, int]) {
				m.Store("p", 1)
				m.Delete("p")
				prune(m)
			},
		} {
			t.Run(name+"/"+change, func(t *testing.T) {
				atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
					tx := m.Begin(opts)
					look(tx)
					tx.Set("sum", 20)
					write(m)
					err := tx.Commit()
					if opts != serializable {
						require.NoError(t, err)
						return
					}
					require.ErrorIs(t, err, ErrConflict)
					var c *ConflictError
					require.ErrorAs(t, err, &c)
					require.Equal(t, ConflictScan, c.Kind)
					requireAbsent[int](t)(m.Load("sum"))
				})
			})
		}
	}
}

func TestScanWithoutPhantomCommits(t *testing.T) {
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		m.Store("gone", 1)
		m.Delete("gone")
		tx := m.Begin(opts)
		n := 0
		for range tx.All() {
			n++
		}
		require.Equal(t, 2, n)
		tx.Set("n", n)
		tx.Set("x", 0)
		tx.Delete("y")
		prune(m)
		require.NoError(t, tx.Commit())
		require.Equal(t, map[string]int{"n": 2, "x": 0}, contents(t, m))
	})
}
