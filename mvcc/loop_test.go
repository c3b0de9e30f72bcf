package mvcc

import (
	"iter"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/stage"
)

// A step after the snapshot was closed panics, also if its key was found before.
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
	for name, loop := range map[string]func() (Snapshot[int, int], iter.Seq2[int, int]){
		"all":     func() (Snapshot[int, int], iter.Seq2[int, int]) { s := table.Snapshot(); return s, s.All() },
		"ordered": func() (Snapshot[int, int], iter.Seq2[int, int]) { s := ordered.Snapshot(); return s, s.All() },
		"up": func() (Snapshot[int, int], iter.Seq2[int, int]) {
			s := ordered.Snapshot()
			return s, s.Ascend(From(3))
		},
		"down": func() (Snapshot[int, int], iter.Seq2[int, int]) {
			s := ordered.Snapshot()
			return s, s.Descend(UpTo(40))
		},
		"index": func() (Snapshot[int, int], iter.Seq2[int, int]) {
			s := table.Snapshot()
			return s, ix.Get(s, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, all := loop()
			steps := 0
			require.PanicsWithValue(t, ErrTxDone, func() {
				for range all {
					if steps++; steps == 2 {
						s.Close()
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

// The lowest and the highest key are found behind many that were deleted.
func TestEndsBehindDeleted(t *testing.T) {
	m := newOrdered[int](t, nil)
	const n = 200
	for k := range n {
		m.Store(k, k)
	}
	old := m.Snapshot() // so that nothing is reclaimed
	defer old.Close()
	for k := range n/2 - 1 {
		m.Delete(k)
		m.Delete(n - 1 - k)
		low, value, ok := m.Min()
		require.True(t, ok && low == k+1 && value == k+1, "%d", low)
		high, value, ok := m.Max()
		require.True(t, ok && high == n-2-k && value == high, "%d", high)
		tx := m.Begin(nil)
		inTx, _, _ := tx.Min()
		require.Equal(t, low, inTx)
		tx.Rollback()
	}
	low, _, _ := old.Min()
	high, _, _ := old.Max()
	require.True(t, low == 0 && high == n-1)
	m.Clear()
	_, _, ok := m.Min()
	require.False(t, ok)
}
