package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Anomalies of two anti-dependencies in a row, which make the difference between
// the levels: snapshot level permits them, serializable level refuses the commit
// that would complete them.

// G2-item, write skew (A5B). r1(x) r1(y) r2(x) r2(y) w1(x) w2(y) c1 c2: each
// decides by what the other one changes.
func TestG2Item(t *testing.T) {
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
		refusedUnlessSnapshot(t, opts, err, "x", ConflictRead)
		if err != nil {
			requireNow(t, m, map[string]int{"x": -10, "y": 10})
		} else {
			requireNow(t, m, map[string]int{"x": -10, "y": -10})
		}
	})
	// Each reads only what the other writes.
	t.Run("crossed", func(t *testing.T) {
		atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
			a, b := m.Begin(opts), m.Begin(opts)
			requireValue(t, 10)(a.Get("y"))
			requireValue(t, 10)(b.Get("x"))
			a.Set("x", 1)
			b.Set("y", 1)
			require.NoError(t, b.Commit())
			refusedUnlessSnapshot(t, opts, a.Commit(), "y", ConflictRead)
		})
	})
	// Three in a ring: 1 reads x writes y, 2 reads y writes z, 3 reads z writes x.
	t.Run("ring of three", func(t *testing.T) {
		atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
			keys := []string{"x", "y", "z"}
			m.Store("z", 10)
			var txs []Tx[string, int]
			for i, key := range keys {
				tx := m.Begin(opts)
				requireValue(t, 10)(tx.Get(key))
				tx.Set(keys[(i+1)%3], 11+i)
				txs = append(txs, tx)
			}
			// In this order each is serialized before the one that committed before.
			require.NoError(t, txs[1].Commit())
			require.NoError(t, txs[0].Commit())
			refusedUnlessSnapshot(t, opts, txs[2].Commit(), "z", ConflictRead)
		})
	})
	// A one-key operation reads and writes one key, so it cannot be half of a
	// cycle of two. It can be one of three: r1(x) r1(y), then x is overwritten by
	// one operation and y read by another, which come before 1's write of y.
	t.Run("one-key", func(t *testing.T) {
		byOneKey(t, append(removals, overwrites...), func(t *testing.T, m *Map[string, int],
			opts *TxOptions, set func(string, int)) {
			tx := m.Begin(opts)
			requireValue(t, 10)(tx.Get("x"))
			requireValue(t, 10)(tx.Get("y"))
			set("x", -10)
			requireValue(t, 10)(m.Load("y"))
			actual, _ := m.LoadOrStore("y", -1)
			require.Equal(t, 10, actual)
			require.False(t, CompareAndSwap(m, "y", 0, -1))
			tx.Set("y", -10)
			refusedUnlessSnapshot(t, opts, tx.Commit(), "x", ConflictRead)
		})
	})
	// A key that was only looked at, and whose value is the same again, counts.
	t.Run("same value", func(t *testing.T) {
		byOneKey(t, overwrites, func(t *testing.T, m *Map[string, int], opts *TxOptions,
			set func(string, int)) {
			tx := m.Begin(opts)
			requireValue(t, 10)(tx.Get("x"))
			tx.Set("y", 11)
			set("x", 5)
			set("x", 10)
			refusedUnlessSnapshot(t, opts, tx.Commit(), "x", ConflictRead)
		})
	})
}

// G2, anti-dependency cycle with predicates. Each counts what the other inserts.
func TestG2(t *testing.T) {
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		a, b := m.Begin(opts), m.Begin(opts)
		require.Zero(t, threes(a))
		require.Zero(t, threes(b))
		a.Set("p", 30)
		b.Set("q", 42)
		require.NoError(t, a.Commit())
		refusedUnlessSnapshot(t, opts, b.Commit(), "p", ConflictScan)
	})
	// Neither scans; each asks for the key that the other one inserts.
	t.Run("absent keys", func(t *testing.T) {
		atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
			a, b := m.Begin(opts), m.Begin(opts)
			requireAbsent[int](t)(a.Get("q"))
			requireAbsent[int](t)(b.Get("p"))
			a.Set("p", 30)
			b.Set("q", 42)
			require.NoError(t, a.Commit())
			refusedUnlessSnapshot(t, opts, b.Commit(), "p", ConflictRead)
		})
	})
	// Two edges: 3 sees 2 but not 1, which then writes what contradicts 3.
	byReading(t, func(t *testing.T, m *Map[string, int], opts *TxOptions,
		read func(func(Reader[string, int]))) {
		first := m.Begin(opts)
		require.Zero(t, threes(first))
		mustUpdate(t, m, opts, func(tx Tx[string, int]) { y, _ := tx.Get("y"); tx.Set("y", y+5) })
		read(func(r Reader[string, int]) { requireRead(t, r, map[string]int{"x": 10, "y": 15}) })
		first.Set("x", 0)
		refusedUnlessSnapshot(t, opts, first.Commit(), "y", ConflictScan)
	})
	// The same, where 2 is one operation that inserts and 3 is a Range.
	t.Run("one-key", func(t *testing.T) {
		byOneKey(t, inserts, func(t *testing.T, m *Map[string, int], opts *TxOptions,
			set func(string, int)) {
			first := m.Begin(opts)
			require.Zero(t, threes(first))
			set("p", 30)
			require.Equal(t, map[string]int{"x": 10, "y": 10, "p": 30}, ranged(m))
			first.Set("x", 0)
			refusedUnlessSnapshot(t, opts, first.Commit(), "p", ConflictScan)
		})
	})
}

// The read-only transaction anomaly, with x for checking and y for savings. 1
// withdraws from checking, having seen both empty, and charges for an overdraft;
// 2 deposits to savings; 3 reports the deposit without the withdrawal. Without 3,
// 1 before 2 would explain the charge; 3 has seen that 2 came first.
func TestReadOnlyAnomaly(t *testing.T) {
	withdraw := func(t *testing.T, m *Map[string, int], opts *TxOptions, deposit, report func()) {
		m.Store("x", 0)
		m.Store("y", 0)
		tx := m.Begin(opts)
		x, _ := tx.Get("x")
		y, _ := tx.Get("y")
		deposit()
		report()
		require.Negative(t, x+y-10)
		tx.Set("x", x-11) // with the charge
		err := tx.Commit()
		refusedUnlessSnapshot(t, opts, err, "y", ConflictRead)
		if err != nil {
			requireNow(t, m, map[string]int{"x": 0, "y": 20})
		} else {
			requireNow(t, m, map[string]int{"x": -11, "y": 20})
		}
	}
	reported := map[string]int{"x": 0, "y": 20}
	byReading(t, func(t *testing.T, m *Map[string, int], opts *TxOptions,
		read func(func(Reader[string, int]))) {
		withdraw(t, m, opts, func() {
			mustUpdate(t, m, opts, func(tx Tx[string, int]) { y, _ := tx.Get("y"); tx.Set("y", y+20) })
		}, func() {
			read(func(r Reader[string, int]) { requireRead(t, r, reported) })
		})
	})
	// The deposit is one operation, the report two, or a Range.
	t.Run("one-key", func(t *testing.T) {
		byOneKey(t, overwrites, func(t *testing.T, m *Map[string, int], opts *TxOptions,
			set func(string, int)) {
			withdraw(t, m, opts, func() { set("y", 20) }, func() {
				requireValue(t, 20)(m.Load("y"))
				requireValue(t, 0)(m.Load("x"))
				require.Equal(t, reported, ranged(m))
			})
		})
	})
}

// What holds where transactions of both levels meet.
func TestMixedLevels(t *testing.T) {
	skew := func(t *testing.T, first, second *TxOptions) (m *Map[string, int], err error) {
		m = newMap[string, int](t, nil)
		m.Store("x", 10)
		m.Store("y", 10)
		a, b := m.Begin(first), m.Begin(second)
		for _, tx := range []Tx[string, int]{a, b} {
			requireValue(t, 10)(tx.Get("x"))
			requireValue(t, 10)(tx.Get("y"))
		}
		a.Set("x", -10)
		b.Set("y", -10)
		require.NoError(t, a.Commit())
		return m, b.Commit()
	}
	// A serializable transaction that commits has read what is there at its
	// commit, whatever the level of those that wrote it.
	t.Run("serializable last", func(t *testing.T) {
		m, err := skew(t, snapshot, serializable)
		requireConflict(t, err, "x", ConflictRead)
		requireNow(t, m, map[string]int{"x": -10, "y": 10})
	})
	// But a transaction that commits at snapshot level may break an invariant that only
	// serializable transactions would keep.
	t.Run("snapshot last", func(t *testing.T) {
		m, err := skew(t, serializable, snapshot)
		require.NoError(t, err)
		requireNow(t, m, map[string]int{"x": -10, "y": -10})
	})
	// One that writes nothing, or reads nothing, breaks none.
	t.Run("snapshot blind", func(t *testing.T) {
		m := newMap[string, int](t, nil)
		m.Store("x", 10)
		m.Store("y", 10)
		a, b := m.Begin(serializable), m.Begin(snapshot)
		requireValue(t, 10)(a.Get("x"))
		requireValue(t, 10)(a.Get("y"))
		a.Set("x", -10)
		b.Set("y", -10)
		require.NoError(t, b.Commit())
		requireConflict(t, a.Commit(), "y", ConflictRead)
	})
	t.Run("snapshot reads", func(t *testing.T) {
		m := newMap[string, int](t, nil)
		m.Store("x", 0)
		m.Store("y", 0)
		a := m.Begin(serializable)
		requireValue(t, 0)(a.Get("y"))
		mustUpdate(t, m, serializable, func(tx Tx[string, int]) {
			y, _ := tx.Get("y")
			tx.Set("y", y+20)
		})
		report := m.Begin(snapshot)
		requireRead(t, report, map[string]int{"x": 0, "y": 20})
		require.NoError(t, report.Commit())
		a.Set("x", -11)
		requireConflict(t, a.Commit(), "y", ConflictRead)
	})
	// First committer wins whoever was first.
	for _, first := range levels {
		t.Run("snapshot after "+first.Isolation.String(), func(t *testing.T) {
			m := newMap[string, int](t, nil)
			m.Store("x", 10)
			tx := m.Begin(snapshot)
			requireAbsent[int](t)(tx.Get("z"))
			tx.Set("x", 1)
			mustSet(t, m, first, map[string]int{"x": 2, "y": 2})
			requireConflict(t, tx.Commit(), "x", ConflictWrite)
			requireNow(t, m, map[string]int{"x": 2, "y": 2})
		})
	}
}
