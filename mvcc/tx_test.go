package mvcc

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

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

func TestClosedSnapshot(t *testing.T) {
	for _, reused := range []bool{false, true} {
		m := newMap[int, int](t, nil)
		m.Store(1, 1)
		s := m.Snapshot()
		copied, all := s, s.All()
		s.Close()
		if reused {
			other := m.Snapshot()
			for other.st != s.st {
				defer other.Close()
				other = m.Snapshot()
			}
			defer func() {
				requireValue(t, 1)(other.Get(1))
				other.Close()
			}()
		}
		for _, s := range []Snapshot[int, int]{s, copied} {
			s.Close()
			requireTxDone(t, func() { s.Get(1) })
			requireTxDone(t, func() { s.Get(2) })
			requireTxDone(t, func() { s.Len() })
			requireTxDone(t, func() { s.Epoch() })
			requireTxDone(t, func() { all(func(int, int) bool { return true }) })
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
