package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The number of keys is a read like others: a commit that changes it is a conflict, and another one
// is none.
func TestTxLen(t *testing.T) {
	db := NewDB(nil)
	t.Cleanup(db.Close)
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
