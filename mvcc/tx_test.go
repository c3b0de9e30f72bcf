package mvcc

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/engine/hasher"
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

// The number of keys is a read like others: a commit that changes it is a conflict, and another one
// is none.
func TestTxLen(t *testing.T) {
	db := newDB(t, nil)
	table := NewTable[int, int](db, "table", nil)
	other := NewTable[int, int](db, "other", nil)
	for name, c := range map[string]struct {
		do       func()
		conflict bool
	}{
		"nothing":                 {func() {}, false},
		"overwrites":              {func() { table.Store(1, 2) }, false},
		"inserts":                 {func() { table.Store(7, 1) }, true},
		"deletes":                 {func() { table.Delete(1) }, true},
		"deletes and puts back":   {func() { table.Delete(1); table.Store(1, 2) }, false},
		"inserts and takes away":  {func() { table.Store(7, 1); table.Delete(7) }, false},
		"as many go as come":      {func() { table.Store(7, 1); table.Store(8, 1); table.Delete(1); table.Delete(2) }, false},
		"one more comes than go":  {func() { table.Store(7, 1); table.Store(8, 1); table.Delete(1) }, true},
		"clears":                  {table.Clear, true},
		"inserts elsewhere":       {func() { other.Store(7, 1) }, false},
		"inserts what is written": {func() { table.Store(99, 1) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, level := range levels {
				table.Clear()
				other.Clear()
				for i := range 5 {
					table.Store(i, i)
				}
				tx := db.Begin(level)
				require.Equal(t, 5, table.In(tx).Len())
				c.do()
				require.Equal(t, 5, table.In(tx).Len())
				table.In(tx).Set(99, 1)
				require.Equal(t, 6, table.In(tx).Len())
				err := tx.Commit()
				if name == "inserts what is written" && level == snapshot {
					require.ErrorIs(t, err, ErrConflict) // first committer wins
				} else if c.conflict && level == serializable {
					require.ErrorIs(t, err, ErrConflict)
				} else {
					require.NoError(t, err)
				}
			}
		})
	}
	tx := newMap[int, int](t, nil).Begin(nil)
	requireTxDone(t, func() { tx.Rollback(); tx.Len() })
}

// It counts the transaction's own writes.
func TestTxLenOfOwnWrites(t *testing.T) {
	for name, m := range map[string]*Map[int, int]{"hash table": newMap[int, int](t, nil), "order": newOrdered[int](t, nil)} {
		t.Run(name, func(t *testing.T) {
			for i := range 20 {
				m.Store(i, i)
			}
			mustUpdate(t, m, nil, func(tx Tx[int, int]) {
				for i := range 10 {
					tx.Delete(i) // before it has counted
					tx.Delete(100 + i)
				}
				require.Equal(t, 10, tx.Len())
				tx.Set(1, 1)
				tx.Set(1, 2)
				tx.Merge(2, add(1))
				tx.Merge(19, add(1))
				tx.Set(50, 1)
				require.Equal(t, 13, tx.Len())
				_ = tx.Savepoint(func() error {
					tx.Set(51, 1)
					require.Equal(t, 14, tx.Len())
					return errGaveUp
				})
				require.Equal(t, 13, tx.Len())
			})
			require.Equal(t, 13, m.Len())
		})
	}
}

// A transaction finds its own writes, also where keys have the same hash, or hashes next to each
// other, and savepoints are undone.
func TestOwnWritesFound(t *testing.T) {
	for name, hash := range map[string]func(key int) uint64{
		"one hash":         func(int) uint64 { return 1 << 63 },
		"few hashes":       func(key int) uint64 { return uint64(key % 7) },
		"all of their own": func(key int) uint64 { return uint64(key) << 40 },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMap[int, int](t, nil)
			m.index.Hash = hasher.Given(hash)
			const keys = 60
			tx := m.Begin(nil)
			defer tx.Rollback()
			want := map[int]int{}
			check := func() {
				for key := range keys {
					value, ok := tx.Get(key)
					is, there := want[key]
					require.Equal(t, there, ok, key)
					require.Equal(t, is, value, key)
				}
			}
			for round := range 40 {
				undone := round%2 == 1
				before := maps.Clone(want)
				err := tx.Savepoint(func() error {
					for range 1 + rand.IntN(20) {
						key := rand.IntN(1 + (keys-1)*round/40)
						tx.Set(key, round)
						want[key] = round
					}
					check()
					if undone {
						return errors.New("undone")
					}
					return nil
				})
				require.Equal(t, undone, err != nil)
				if undone {
					want = before
				}
				check()
			}
			require.Greater(t, len(stateOf(tx.st).writes), linearWrites)
		})
	}
}
