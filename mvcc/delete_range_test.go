package mvcc

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// DeleteRange deletes the keys of its range, at once, whatever else the map has: indexes that
// follow, a watch that is told, and expiry.
func TestDeleteRange(t *testing.T) {
	alone := NewOrdered[int, int](nil)
	t.Cleanup(alone.Close)
	db := NewDB(nil)
	t.Cleanup(db.Close)
	table := NewOrderedTable[int, int](db, "table", nil)
	indexed := NewOrderedTable[int, int](db, "indexed", nil)
	hence := time.Now().Add(time.Hour)
	indexed.Expire(func(int, int) time.Time { return hence })
	keys := func(_, v int) []int { return []int{v} }
	many, err := NewIndex(indexed, "many", keys, nil)
	require.NoError(t, err)
	unique, err := NewOrderedIndex(indexed, "unique", keys, &IndexOptions{Unique: true})
	require.NoError(t, err)
	for name, m := range map[string]*Map[int, int]{"alone": alone, "table": table, "indexed": indexed} {
		t.Run(name, func(t *testing.T) {
			for i := range 100 {
				m.Store(i, i)
			}
			commits := m.Watch(t.Context(), nil)
			old := m.Snapshot()
			defer old.Close()
			require.Equal(t, 10, m.DeleteRange(From(10).Before(20)))
			require.Zero(t, m.DeleteRange(From(10).Before(20)))
			require.Zero(t, m.DeleteRange(From(9).Before(3)))
			require.Equal(t, 90, m.Len())
			require.Equal(t, 100, CountRange(old, Range[int]{}))
			require.Equal(t, 9, CountRange(m, From(1).Before(20)))
			for c, err := range commits {
				require.NoError(t, err)
				require.Len(t, c.Changes, 10)
				for _, change := range c.Changes {
					require.True(t, change.Had && !change.Has && change.Key/10 == 1, change)
				}
				break
			}
			for _, opts := range levels {
				mustUpdate(t, m, opts, func(tx Tx[int, int]) {
					more := func(old int, _ bool) int { return old + 1000 }
					tx.Set(15, 2015)
					tx.Delete(20)
					tx.Merge(21, more)
					tx.Merge(16, func(int, bool) int { return 2016 })
					some := From(15).UpTo(25)
					want := len(maps.Collect(tx.Ascend(some)))
					require.GreaterOrEqual(t, want, 3)
					require.Equal(t, want, CountRange(tx, some))
					require.Equal(t, want, tx.DeleteRange(some))
					require.Zero(t, CountRange(tx, some))
					require.Zero(t, tx.DeleteRange(some))
					tx.Set(12, 2012)
				})
				left := slices.Sorted(maps.Keys(maps.Collect(m.Ascend(From(10).UpTo(26)))))
				require.Equal(t, []int{12, 26}, left)
			}
			if m == indexed {
				require.Equal(t, m.Len(), many.Len(m))
				require.Equal(t, m.Len(), unique.Count(m, Range[int]{}))
			}
			require.Equal(t, m.Len(), m.DeleteRange(Range[int]{}))
			require.Empty(t, maps.Collect(m.All()))
		})
	}
	require.Zero(t, many.Len(indexed)+unique.Len(indexed))
	require.Zero(t, many.Count(indexed, Range[int]{})+unique.Count(indexed, Range[int]{}))
}
