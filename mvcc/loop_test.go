package mvcc

import (
	"iter"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/stage"
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

// A loop meets what its snapshot sees, whatever its steps do to the map.
func TestLoopThatWrites(t *testing.T) {
	const n = 300
	for name, m := range map[string]*Map[int, int]{
		"table": newMap[int, int](t, nil), "ordered": newOrdered[int](t, nil),
	} {
		for at := 0; at < n; at += stage.Sizes(37, 149) {
			t.Run(name, func(t *testing.T) {
				m.Clear()
				want := map[int]int{}
				for k := range n {
					m.Store(2*k, k)
					want[2*k] = k
				}
				got, steps := map[int]int{}, 0
				for k, v := range m.All() {
					require.NotContains(t, got, k)
					got[k] = v
					switch steps++; {
					case steps < at:
					case steps%3 == 0:
						for i := range n {
							m.Store(2*i+1, -1)
						}
					case steps%3 == 1:
						m.Store(2*((k/2+7)%n), -2)
					default:
						for i := range n {
							m.Delete(2 * ((k/2 + i) % n))
							m.Delete(2*i + 1)
						}
					}
				}
				require.True(t, maps.Equal(want, got))
			})
		}
	}
}
