package mvcc

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/stage"
)

// A transaction reads its own writes, also more than are searched one by one.
func TestReadYourManyWrites(t *testing.T) {
	for _, n := range []int{linearWrites - 1, linearWrites, linearWrites + 1, 100, 2 * keptCapacity} {
		m := newMap[int, int](t, nil)
		m.Store(-1, -1)
		for range 2 { // the second transaction has the first one's memory
			tx := m.Begin(nil)
			want := map[int]int{-1: -1}
			for i := range n {
				_, there := m.Load(i)
				got, ok := tx.Get(i)
				require.Equal(t, there, ok, "a write of an earlier transaction")
				require.Equal(t, there, got == i+1 && ok)
				tx.Set(i, i)
				requireValue(t, i)(tx.Get(i))
			}
			for i := range n {
				tx.Set(i, i+1)
				want[i] = i + 1
				if i%3 == 2 {
					tx.Delete(i)
					delete(want, i)
					requireAbsent[int](t)(tx.Get(i))
				}
			}
			require.Empty(t, cmp.Diff(want, maps.Collect(tx.All())))
			require.NoError(t, tx.Commit())
			require.Empty(t, cmp.Diff(want, contents(t, m)))
		}
		requireAbsent[int](t)(m.Begin(nil).Get(2))
	}
}

func TestAllWhileWriting(t *testing.T) {
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		tx := m.Begin(opts)
		tx.Set("own", 1)
		tx.Delete("y")
		met := map[string]int{}
		for key, value := range tx.All() {
			require.NotContains(t, met, key, "met twice")
			met[key] = value
			tx.Set("added by "+key, 1)
			tx.Set(key, value+100)
			tx.Set("x", -1)
			tx.Set("own", -1)
			tx.Set("y", -1) // deleted before the loop
			m.Store("elsewhere", 1)
		}
		require.Empty(t, cmp.Diff(map[string]int{"x": 10, "own": 1}, met))
		n := 0
		for range tx.All() {
			n++
			break
		}
		require.Equal(t, 1, n)
		tx.Rollback()
	})
}

func TestEnded(t *testing.T) {
	for name, end := range map[string]func(tx Tx[string, int]){
		"committed":      func(tx Tx[string, int]) { require.NoError(t, tx.Commit()) },
		"read-only":      func(tx Tx[string, int]) { tx.Get("x"); require.NoError(t, tx.Commit()) },
		"rolled back":    func(tx Tx[string, int]) { tx.Set("x", 1); tx.Rollback() },
		"rolled back, 2": func(tx Tx[string, int]) { tx.Rollback(); tx.Rollback() },
		"committed copy": func(tx Tx[string, int]) {
			other := tx
			other.Set("x", 1)
			require.NoError(t, other.Commit())
		},
		"conflict": func(tx Tx[string, int]) {
			tx.Get("x")
			tx.Set("x", 1)
			mapOf[string, int](tx.st.engine()).Store("x", 5)
			require.ErrorIs(t, tx.Commit(), ErrConflict)
		},
	} {
		for _, reused := range []bool{false, true} {
			t.Run(fmt.Sprint(name, "/", reused), func(t *testing.T) {
				m := newMap[string, int](t, nil)
				m.Store("x", 0)
				tx := m.Begin(nil)
				all := tx.All()
				end(tx)
				var stranger Tx[string, int]
				if reused {
					for { // until one has the same state
						if stranger = m.Begin(nil); stranger.st == tx.st {
							break
						}
						defer stranger.Rollback()
					}
					stranger.Set("y", 1)
				}
				require.ErrorIs(t, tx.Commit(), ErrTxDone)
				require.ErrorIs(t, tx.Err(), ErrTxDone)
				tx.Rollback()
				requireTxDone(t, func() { tx.Get("x") })
				requireTxDone(t, func() { tx.Set("x", 1) })
				requireTxDone(t, func() { tx.Delete("x") })
				requireTxDone(t, func() { tx.Epoch() })
				requireTxDone(t, func() {
					for range tx.All() {
					}
				})
				requireTxDone(t, func() { all(func(string, int) bool { return true }) })
				if reused {
					requireValue(t, 1)(stranger.Get("y"))
					require.NoError(t, stranger.Err())
					require.NoError(t, stranger.Commit(), "a late call ended a stranger's transaction")
					requireValue(t, 1)(m.Load("y"))
				}
			})
		}
	}
}

func TestErr(t *testing.T) {
	m := newMap[string, int](t, nil)
	m.Store("x", 1)
	read := m.Begin(nil)
	read.Get("x")
	write := m.Begin(nil)
	write.Get("x")
	write.Get("absent")
	require.NoError(t, write.Err())
	write.Set("y", 1)
	require.NoError(t, write.Err())
	m.Store("other", 1)
	require.NoError(t, write.Err())
	m.Store("x", 2)
	requireConflict(t, write.Err(), "x", ConflictRead)
	requireValue(t, 1)(write.Get("x")) // it goes on to read as of its epoch
	require.NoError(t, read.Err(), "a transaction that writes nothing cannot conflict")
	requireConflict(t, write.Commit(), "x", ConflictRead)
	require.NoError(t, read.Commit())
	checkQuiet(t, m)
}

// Many transactions of one goroutine at once, ended in any order.
func TestManyOpenTransactions(t *testing.T) {
	m := newMap[int, int](t, nil)
	n := stage.Sizes(20_000, 2_000)
	first := m.Snapshot()
	defer first.Close()
	txs := make([]Tx[int, int], n)
	for i := range txs {
		txs[i] = m.Begin(nil)
		txs[i].Set(i, i)
		m.Store(-1, i)
	}
	require.Equal(t, n+1, m.Stats().LiveTx)
	for i := range txs {
		require.NoError(t, txs[(i*7919)%n].Commit())
	}
	requireAbsent[int](t)(first.Get(-1))
	first.Close()
	require.Len(t, contents(t, m), n+1)
	checkQuiet(t, m)
}

// A loop may be left by ending the transaction.
func TestCommitWithinAll(t *testing.T) {
	for _, own := range []bool{false, true} {
		m := newMap[int, int](t, nil)
		m.Store(1, 1)
		first := func() error {
			tx := m.Begin(nil)
			defer tx.Rollback()
			if own {
				tx.Set(2, 2)
			}
			for key := range tx.All() {
				tx.Set(key, 10)
				return tx.Commit()
			}
			return nil
		}
		require.Nil(t, panicOf(func() { require.NoError(t, first()) }))
		requireValue(t, 10)(m.Load(map[bool]int{false: 1, true: 2}[own]))
	}
}
