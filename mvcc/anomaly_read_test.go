package mvcc

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// Anomalies of what is read: G1 in its three forms, OTV and G-single. None of
// them occurs at either level.

// G1a, aborted read. w1 r2 a1: 2 sees nothing of 1, whichever way 1 ends.
func TestG1a(t *testing.T) {
	was := map[string]int{"x": 10, "y": 10}
	write := func(tx Tx[string, int]) {
		tx.Set("x", 11)
		tx.Set("new", 1)
		tx.Delete("y")
	}
	for _, end := range []struct {
		name string
		run  func(t *testing.T, m *Map[string, int], opts *TxOptions, see func())
	}{
		{"Rollback", func(t *testing.T, m *Map[string, int], opts *TxOptions, see func()) {
			tx := m.Begin(opts)
			write(tx)
			see()
			tx.Rollback()
		}},
		{"error", func(t *testing.T, m *Map[string, int], opts *TxOptions, see func()) {
			mine := errors.New("mine")
			require.Equal(t, mine, m.Update(bg, opts, func(tx Tx[string, int]) error {
				write(tx)
				see()
				return mine
			}))
		}},
		{"panic", func(t *testing.T, m *Map[string, int], opts *TxOptions, see func()) {
			require.Equal(t, any("out"), panicOf(func() {
				_ = m.Update(bg, opts, func(tx Tx[string, int]) error { write(tx); see(); panic("out") })
			}))
		}},
		{"conflict", func(t *testing.T, m *Map[string, int], opts *TxOptions, see func()) {
			tx := m.Begin(opts)
			tx.Get("x")
			write(tx)
			m.Store("x", 10)
			see()
			requireConflict(t, tx.Commit(), "x", ConflictRead, ConflictWrite)
		}},
	} {
		t.Run(end.name, func(t *testing.T) {
			byReading(t, func(t *testing.T, m *Map[string, int], opts *TxOptions,
				read func(func(Reader[string, int]))) {
				read(func(before Reader[string, int]) {
					end.run(t, m, opts, func() {
						requireRead(t, before, was, "new")
						requireNow(t, m, was, "new")
					})
					requireRead(t, before, was, "new")
				})
				requireNow(t, m, was, "new")
				// Nor does a write that depends on what was there.
				requireValue(t, 10)(m.Swap("x", 12))
				actual, loaded := m.LoadOrStore("new", 13)
				require.False(t, loaded)
				require.Equal(t, 13, actual)
			})
		})
	}
}

// G1b, intermediate read. w1(x, 11) r2(x) w1(x, 12) r2(x) c1: nobody sees 11.
func TestG1b(t *testing.T) {
	byReading(t, func(t *testing.T, m *Map[string, int], opts *TxOptions,
		read func(func(Reader[string, int]))) {
		was := map[string]int{"x": 10, "y": 10}
		read(func(before Reader[string, int]) {
			tx := m.Begin(opts)
			steps := []func(){
				func() { tx.Set("x", 11) },
				func() { tx.Set("x", 12) },
				func() { tx.Delete("y") },
				func() { tx.Set("y", 13) },
				func() { tx.Set("n", 1) },
				func() { tx.Delete("n") },
			}
			for _, step := range steps {
				step()
				requireRead(t, before, was, "n")
				requireNow(t, m, was, "n")
			}
			require.NoError(t, tx.Commit())
			requireRead(t, before, was, "n")
		})
		requireNow(t, m, map[string]int{"x": 12, "y": 13}, "n")
	})
}

// G1c, circular information flow. w1(x) w2(y) r1(y) r2(x) c1 c2: they do not both
// see each other; in fact neither sees the other.
func TestG1c(t *testing.T) {
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		a, b := m.Begin(opts), m.Begin(opts)
		a.Set("x", 11)
		b.Set("y", 22)
		requireValue(t, 10)(a.Get("y"))
		requireValue(t, 10)(b.Get("x"))
		require.NoError(t, a.Commit())
		requireValue(t, 10)(b.Get("x"))
		// Without information flow it is G2-item, which snapshot level permits.
		refusedUnlessSnapshot(t, opts, b.Commit(), "x", ConflictRead)
	})
	// w1(x), then 2 is an operation on y, and 1 began before it: 1 does not see y
	// and 2's caller did not see x.
	t.Run("one-key", func(t *testing.T) {
		byOneKey(t, overwrites, func(t *testing.T, m *Map[string, int], opts *TxOptions,
			set func(string, int)) {
			tx := m.Begin(opts)
			tx.Set("x", 11)
			requireValue(t, 10)(m.Load("x"))
			set("y", 22)
			requireValue(t, 10)(tx.Get("y"))
			refusedUnlessSnapshot(t, opts, tx.Commit(), "y", ConflictRead)
		})
	})
	// The information flows one way: 2 sees 1 whole, since it began after it.
	t.Run("one way", func(t *testing.T) {
		atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
			mustUpdate(t, m, opts, func(tx Tx[string, int]) { tx.Get("y"); tx.Set("x", 11) })
			b := m.Begin(opts)
			requireValue(t, 11)(b.Get("x"))
			b.Set("y", 22)
			require.NoError(t, b.Commit())
			requireNow(t, m, map[string]int{"x": 11, "y": 22})
		})
	})
}

// OTV, observed transaction vanishes. w1(x) w1(y) c1, then 3 sees 1's x; w2(x)
// w2(y) c2; 3 goes on to see 1's y and x, not those from before 1, and nothing
// of 2.
func TestOTV(t *testing.T) {
	byReading(t, func(t *testing.T, m *Map[string, int], opts *TxOptions,
		read func(func(Reader[string, int]))) {
		first, second := m.Begin(opts), m.Begin(opts)
		first.Set("x", 11)
		first.Set("y", 19)
		second.Set("x", 12)
		require.NoError(t, first.Commit())
		read(func(third Reader[string, int]) {
			requireValue(t, 11)(third.Get("x"))
			second.Set("y", 18)
			requireValue(t, 19)(third.Get("y"))
			require.NoError(t, second.Commit())
			requireRead(t, third, map[string]int{"x": 11, "y": 19})
		})
		requireNow(t, m, map[string]int{"x": 12, "y": 18})
	})
	// One-key reads are each as of their own moment, and time goes forward: one that
	// has seen a transaction by one key sees it, or a later one, by another.
	t.Run("one-key", func(t *testing.T) {
		byOneKey(t, overwrites, func(t *testing.T, m *Map[string, int], opts *TxOptions,
			set func(string, int)) {
			mustSet(t, m, opts, map[string]int{"x": 11, "y": 19})
			requireValue(t, 11)(m.Load("x"))
			second := m.Begin(opts)
			second.Set("x", 12)
			second.Set("y", 18)
			requireValue(t, 19)(m.Load("y"))
			require.NoError(t, second.Commit())
			requireValue(t, 18)(m.Load("y"))
			requireValue(t, 12)(m.LoadOrStore("x", -1))
			set("y", 17)
			requireNow(t, m, map[string]int{"x": 12, "y": 17})
		})
	})
}

// G-single, one anti-dependency: read skew (A5A) and the fuzzy read (P2). r1(x)
// w2(x) w2(y) c2 r1(y) r1(x): 1 sees nothing of 2.
func TestGSingle(t *testing.T) {
	was := map[string]int{"x": 10, "y": 10}
	byReading(t, func(t *testing.T, m *Map[string, int], opts *TxOptions,
		read func(func(Reader[string, int]))) {
		read(func(r Reader[string, int]) {
			requireValue(t, 10)(r.Get("x"))
			mustUpdate(t, m, opts, func(tx Tx[string, int]) {
				tx.Set("x", 5)
				tx.Set("y", 15)
				tx.Set("z", 1)
			})
			for range 2 {
				requireValue(t, 10)(r.Get("y"))
				requireRead(t, r, was, "z")
				prune(m)
			}
			mustUpdate(t, m, opts, func(tx Tx[string, int]) { tx.Delete("x"); tx.Delete("y") })
			prune(m)
			requireRead(t, r, was, "z")
		})
	})
	// 2 is an operation, or two.
	t.Run("one-key", func(t *testing.T) {
		byOneKey(t, overwrites, func(t *testing.T, m *Map[string, int], opts *TxOptions,
			set func(string, int)) {
			tx, s := m.Begin(opts), m.Snapshot()
			requireValue(t, 10)(tx.Get("x"))
			set("x", 5)
			set("y", 15)
			set("x", 6)
			prune(m)
			requireRead(t, tx, was)
			requireRead(t, s, was)
			require.NoError(t, tx.Commit())
			s.Close()
		})
	})
	// The reader is a Range, which stands on the first key when 2 commits.
	t.Run("Range", func(t *testing.T) {
		atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
			met := map[string]int{}
			m.Range(func(key string, value int) bool {
				met[key] = value
				mustSet(t, m, opts, map[string]int{"x": 5, "y": 15, "z": 1})
				prune(m)
				return true
			})
			require.Equal(t, was, met)
			requireNow(t, m, map[string]int{"x": 5, "y": 15, "z": 1})
		})
	})
	// 1 writes what it decides by a stale read: refused at either level if it
	// writes what 2 wrote.
	t.Run("with a write", func(t *testing.T) {
		atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
			tx := m.Begin(opts)
			requireValue(t, 10)(tx.Get("x"))
			mustSet(t, m, opts, map[string]int{"x": 12, "y": 18})
			for key, value := range tx.All() {
				if value == 10 && key == "y" {
					tx.Delete(key)
				}
			}
			require.ErrorIs(t, tx.Commit(), ErrConflict)
			requireNow(t, m, map[string]int{"x": 12, "y": 18})
		})
	})
}

// A transaction that can no longer commit reads on as of its begin: whatever it
// computes, it never computes it from two moments.
func TestDoomedTransactionReadsOneMoment(t *testing.T) {
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		m.Store("z", 10)
		tx := m.Begin(opts)
		requireValue(t, 10)(tx.Get("x"))
		tx.Set("x", 11)
		for i := range 5 {
			mustSet(t, m, opts, map[string]int{"x": i, "y": i, "z": i})
			m.Store("new", i)
			prune(m)
			requireRead(t, tx, map[string]int{"x": 11, "y": 10, "z": 10}, "new")
		}
		m.Delete("y")
		m.Delete("z")
		prune(m)
		requireRead(t, tx, map[string]int{"x": 11, "y": 10, "z": 10}, "new")
		require.ErrorIs(t, tx.Commit(), ErrConflict)
	})
}
