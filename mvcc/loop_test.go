package mvcc

import (
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
)

// A step after the snapshot was closed, or the transaction has ended, panics, also if its key was
// found before.
func TestLoopOverClosed(t *testing.T) {
	db := NewDB(nil)
	t.Cleanup(db.Close)
	table := NewTable[int, int](db, "table", nil)
	ordered := NewOrderedTable[int, int](db, "ordered", nil)
	ix, err := NewIndex(table, "all", func(int, int) []int { return []int{1} }, nil)
	require.NoError(t, err)
	for k := range 50 {
		table.Store(k, k)
		ordered.Store(k, k)
	}
	all, inOrder, up, down := table.Snapshot(), ordered.Snapshot(), ordered.Snapshot(), ordered.Snapshot()
	by, plain, own := table.Snapshot(), table.Begin(nil), table.Begin(nil)
	for k := range 3 {
		own.Set(k, k)
	}
	for name, loop := range map[string]struct {
		end func()
		all iter.Seq2[int, int]
	}{
		"all":         {all.Close, all.All()},
		"ordered":     {inOrder.Close, inOrder.All()},
		"up":          {up.Close, up.Ascend(From(3))},
		"down":        {down.Close, down.Descend(UpTo(40))},
		"index":       {by.Close, ix.Get(by, 1)},
		"transaction": {plain.Rollback, plain.All()},
		"own writes":  {own.Rollback, own.All()},
	} {
		t.Run(name, func(t *testing.T) {
			steps := 0
			require.PanicsWithValue(t, ErrTxDone, func() {
				for range loop.all {
					if steps++; steps == 2 {
						loop.end()
					}
				}
			})
			require.Equal(t, 2, steps)
		})
	}
}
