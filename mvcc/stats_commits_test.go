package mvcc

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Epochs that were passed over, or drawn for something else than a commit, count as none: not by
// SkipTo, as after a restart with a journal, nor by the end of a table, a new index, or a commit
// that a function of the user has left.
func TestCommitsAreCommits(t *testing.T) {
	db := NewDB(still())
	defer db.Close()
	bad := false
	m := NewOrderedTableFunc[int, int](db, "m", func(a, b int) int {
		if bad {
			panic("bad")
		}
		return cmp.Compare(a, b)
	}, nil)
	for i := range 3 {
		m.Store(i, i)
	}
	require.EqualValues(t, 3, db.Stats().Commits)
	door{db}.SkipTo(1 << 20)
	require.EqualValues(t, 3, db.Stats().Commits)
	require.Zero(t, db.Stats().Pruned)
	NewTable[int, int](db, "short", nil).Close()
	require.EqualValues(t, 3, db.Stats().Commits)
	_, err := NewIndex(NewTable[int, int](db, "empty", nil), "i", func(int, int) []int { return nil }, nil)
	require.NoError(t, err)
	require.EqualValues(t, 3, db.Stats().Commits)
	require.PanicsWithValue(t, "bad", func() {
		_ = m.Update(bg, nil, func(tx Tx[int, int]) error {
			for range tx.Ascend(From(0).Before(2)) {
			}
			tx.Set(0, 1)
			tx.Set(1, 1)
			bad = true
			return nil
		})
	})
	bad = false
	require.EqualValues(t, 3, db.Stats().Commits)
	m.Store(0, 5)
	require.EqualValues(t, 4, db.Stats().Commits)
}
