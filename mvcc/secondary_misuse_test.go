package mvcc

import (
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/stage"
)

func must[T any](value T, ok bool) T {
	if !ok {
		panic("no value")
	}
	return value
}

// What docs/misuse.md does not show.
func TestIndexMisuse(t *testing.T) {
	x := newIndexing(t, false)
	x.build(t)
	x.m.Store(3, 3<<3)
	_, ok := Table[int, int](x.db, "records/single")
	require.False(t, ok, "the table of an index is its own")
	require.Panics(t, func() {
		_, _ = NewIndex(x.m, "never", func(int, int) []int { panic("unlucky") }, nil)
	}, "there is a record")
	require.Len(t, coreOf(x.m).schema.Load().indexes, 4)
	require.Len(t, dbAt(x.db).tables, 5)

	// A function that panics leaves nothing half done.
	bad, err := NewIndex(x.m, "bad", func(_, value int) []int {
		if value == 13 {
			panic("unlucky")
		}
		return []int{value}
	}, nil)
	require.NoError(t, err)
	require.Panics(t, func() { x.m.Store(1, 13) })
	require.NoError(t, x.m.Update(bg, nil, func(tx Tx[int, int]) error {
		require.Panics(t, func() { tx.Set(1, 13) })
		tx.Set(2, 14)
		return nil
	}))
	require.False(t, x.m.Has(1))
	x.check(t, x.m)
	key, _, ok := bad.First(x.m, 14)
	require.True(t, ok && key == 2)
	require.Equal(t, "bad", bad.Name())
}

// What was dropped or closed keeps no memory.
func TestIndexesAreCollected(t *testing.T) {
	db := NewDB(nil)
	defer db.Close()
	var gone []func() bool
	watch := func(x *indexing) {
		tags, single, m := weak.Make(x.tags.table), weak.Make(x.single.table), weak.Make(x.m)
		gone = append(gone, func() bool {
			return tags.Value() == nil && single.Value() == nil &&
				(m.Value() == nil || !coreOf(m.Value()).closed.Load())
		})
	}
	x := &indexing{db: db, m: NewTable[int, int](db, "records", nil)}
	func() {
		closed := &indexing{db: db, m: NewTable[int, int](db, "closed", nil)}
		for _, x := range []*indexing{x, closed} {
			x.build(t)
			for key := range 100 {
				x.m.Store(key, key<<3|key&7)
			}
			watch(x)
		}
		closed.m.Close()
		x.drop()
	}()
	x.tags, x.sizes, x.single, x.ranks = nil, nil, nil, nil
	stage.Eventually(t, func() bool {
		_ = db.Reclaim(bg)
		runtime.GC()
		return !slices.ContainsFunc(gone, func(gone func() bool) bool { return !gone() })
	}, "an index is still in memory")
	require.Equal(t, 100, x.m.Len())
}
