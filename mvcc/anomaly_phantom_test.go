package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Anomalies of predicates: P3, the phantom, and PMP, predicate-many-preceders.

// threes counts the values that 3 divides.
func threes(r Reader[string, int]) (n int) {
	for _, value := range r.All() {
		if value%3 == 0 {
			n++
		}
	}
	return n
}

// PMP. r1(P) w2(insert into P) c2 r1(P): 1 finds the same both times, for each
// predicate P and each way to ask.
func TestPMP(t *testing.T) {
	was := map[string]int{"x": 10, "y": 10}
	byReading(t, func(t *testing.T, m *Map[string, int], opts *TxOptions,
		read func(func(Reader[string, int]))) {
		read(func(r Reader[string, int]) {
			require.Zero(t, threes(r))
			mustSet(t, m, opts, map[string]int{"p": 30, "q": 31})
			require.Zero(t, threes(r))
			mustUpdate(t, m, opts, func(tx Tx[string, int]) { tx.Delete("x"); tx.Set("y", 33) })
			prune(m)
			require.Zero(t, threes(r))
			requireRead(t, r, was, "p", "q")
		})
		requireNow(t, m, map[string]int{"y": 33, "p": 30, "q": 31}, "x")
	})
	t.Run("one-key", func(t *testing.T) {
		byOneKey(t, inserts, func(t *testing.T, m *Map[string, int], opts *TxOptions,
			set func(string, int)) {
			tx, s := m.Begin(opts), m.Snapshot()
			for i, key := range []string{"p", "q", "r"} {
				require.Zero(t, threes(tx))
				require.Zero(t, threes(s))
				require.Equal(t, 2, s.Len())
				set(key, 3*i)
				m.Delete("x")
				prune(m)
			}
			requireRead(t, tx, was, "p", "q", "r")
			requireRead(t, s, was, "p", "q", "r")
			require.NoError(t, tx.Commit())
			s.Close()
		})
	})
	// Each step of the loop is as of the loop's begin, or its snapshot's.
	t.Run("Range", func(t *testing.T) {
		byOneKey(t, inserts, func(t *testing.T, m *Map[string, int], _ *TxOptions,
			set func(string, int)) {
			met := map[string]int{}
			m.Range(func(key string, value int) bool {
				require.NotContains(t, met, key)
				met[key] = value
				set("from "+key, 30)
				m.Delete("x")
				m.Delete("y")
				return true
			})
			require.Equal(t, was, met)
		})
	})
	// With a write predicate: 1 raises every value by 10, 2 deletes where it finds
	// 10. Whichever is second has not seen what the first did, and is refused.
	t.Run("writes", func(t *testing.T) {
		atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
			raise, drop := m.Begin(opts), m.Begin(opts)
			for key, value := range raise.All() {
				raise.Set(key, value+10)
			}
			for key, value := range drop.All() {
				if value == 10 {
					drop.Delete(key)
				}
			}
			require.NoError(t, raise.Commit())
			require.ErrorIs(t, drop.Commit(), ErrConflict)
			requireNow(t, m, map[string]int{"x": 20, "y": 20})
		})
	})
}

// P3, phantom, with a scan for the predicate: 1 has scanned, all or a part, and
// writes; any commit since, of any key, is a conflict at serializable level.
func TestP3(t *testing.T) {
	for _, look := range []struct {
		name string
		scan func(tx Tx[string, int])
	}{
		{"whole", func(tx Tx[string, int]) {
			for range tx.All() {
			}
		}},
		{"stopped early", func(tx Tx[string, int]) {
			for range tx.All() {
				break
			}
		}},
	} {
		for _, change := range []struct {
			name string
			do   func(t *testing.T, m *Map[string, int])
		}{
			{"insert", func(t *testing.T, m *Map[string, int]) { m.Store("p", 1) }},
			{"LoadOrStore", func(t *testing.T, m *Map[string, int]) { m.LoadOrStore("p", 1) }},
			{"update", func(t *testing.T, m *Map[string, int]) { m.Store("x", 1) }},
			{"CompareAndSwap", func(t *testing.T, m *Map[string, int]) { CompareAndSwap(m, "x", 10, 1) }},
			{"delete", func(t *testing.T, m *Map[string, int]) { m.Delete("x") }},
			{"insert and delete", func(t *testing.T, m *Map[string, int]) {
				m.Store("p", 1)
				m.Delete("p")
				prune(m)
			}},
			{"Update", func(t *testing.T, m *Map[string, int]) {
				mustSet(t, m, nil, map[string]int{"p": 1, "q": 1})
			}},
		} {
			t.Run(look.name+"/"+change.name, func(t *testing.T) {
				atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
					tx := m.Begin(opts)
					look.scan(tx)
					tx.Set("sum", 20)
					change.do(t, m)
					err := tx.Commit()
					if opts != serializable {
						require.NoError(t, err, "snapshot level permits this")
						return
					}
					var c *ConflictError
					require.ErrorAs(t, err, &c)
					require.Equal(t, ConflictScan, c.Kind)
					requireAbsent[int](t)(m.Load("sum"))
				})
			})
		}
	}
}

// P3 with the predicate "this key is absent".
func TestP3AbsentKey(t *testing.T) {
	ways := append([]oneKeyWrite{{"Update", func(m *Map[string, int], key string, value int) bool {
		return m.Update(bg, nil, func(tx Tx[string, int]) error {
			tx.Set(key, value)
			tx.Set("with "+key, value)
			return nil
		}) == nil
	}}}, inserts...)
	for _, was := range []string{"never there", "deleted", "deleted, pending reclaim"} {
		t.Run(was, func(t *testing.T) {
			byOneKey(t, ways, func(t *testing.T, m *Map[string, int], opts *TxOptions,
				set func(string, int)) {
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
				set("p", 1)
				requireAbsent[int](t)(tx.Get("p"))
				refusedUnlessSnapshot(t, opts, tx.Commit(), "p", ConflictRead)
			})
		})
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
