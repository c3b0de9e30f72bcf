package mvcc

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// No transaction leaves two records with an index key of a unique index, by whatever way, and the
// steps in between do not matter.
func TestUniqueIndex(t *testing.T) {
	x := newIndexing(t, false)
	x.build(t)
	x.m.Store(1, 10<<3)
	x.m.Store(2, 20<<3)
	refused := func(err error) {
		t.Helper()
		var e *UniqueError
		require.ErrorAs(t, err, &e)
		require.Equal(t, "records", e.Table)
		require.Equal(t, "ranks", e.Index) // the first by name
		require.Equal(t, 10, e.Key)
		require.ElementsMatch(t, []any{1, 2}, e.Records)
		require.ErrorContains(t, err, `index "ranks" of table "records" is unique`)
		x.check(t, x.m)
		require.Equal(t, 20<<3, must(x.m.Load(2)))
	}
	runs := 0
	for _, level := range []Level{LevelSerializable, LevelSnapshot} {
		refused(x.m.Update(bg, &TxOptions{Isolation: level}, func(tx Tx[int, int]) error {
			runs++
			tx.Set(2, 10<<3)
			tx.Set(3, 30<<3)
			return nil
		}))
	}
	require.Equal(t, 2, runs, "trying again is in vain")
	require.False(t, x.m.Has(3))
	tx := x.m.Begin(nil)
	tx.Set(2, 10<<3)
	require.Len(t, collected(x.single.Get(tx, 10)), 2, "a transaction sees what it has done")
	refused(tx.Commit())
	require.ErrorIs(t, tx.Commit(), ErrTxDone)
	for _, call := range []func(){
		func() { x.m.Store(2, 10<<3) },
		func() { x.m.Compute(2, func(int, bool) (int, ComputeOp) { return 10 << 3, UpdateOp }) },
		func() { CompareAndSwap(x.m, 2, 20<<3, 10<<3) },
	} {
		func() {
			defer func() { refused(recover().(error)) }()
			call()
		}()
	}

	swapped := func(in Tx[int, int]) error {
		in.Set(1, 20<<3)
		require.Len(t, collected(x.single.Get(in, 20)), 2)
		require.Len(t, collected(x.ranks.Ascend(in, Range[int]{})), 2)
		in.Set(2, 10<<3)
		return nil
	}
	require.NoError(t, x.m.Update(bg, nil, swapped))
	x.check(t, x.m)
	// Again, and undone: an undone write does not count.
	require.NoError(t, x.m.Update(bg, nil, func(tx Tx[int, int]) error {
		_ = tx.Savepoint(func() error {
			tx.Set(1, 10<<3)
			tx.Set(3, 10<<3)
			return errors.New("no")
		})
		tx.Set(3, 30<<3)
		return nil
	}))
	x.check(t, x.m)
	// The one that has it first goes, and another one of those that came later.
	require.NoError(t, x.m.Update(bg, nil, func(tx Tx[int, int]) error {
		tx.Set(4, 10<<3)
		tx.Set(5, 10<<3)
		tx.Delete(2)
		tx.Delete(5)
		return nil
	}))
	key, _, ok := x.single.First(x.m, 10)
	require.True(t, ok)
	require.Equal(t, 4, key)
	x.check(t, x.m)

	// A loop visits the records that there were when it began.
	tx = x.m.Begin(nil)
	tx.Set(8, 10<<3)
	tx.Set(9, 10<<3)
	var visited []int
	for key := range x.single.Get(tx, 10) {
		visited = append(visited, key)
		tx.Set(key, 0)
	}
	slices.Sort(visited)
	require.Equal(t, []int{4, 8, 9}, visited)
	require.NoError(t, tx.Commit())
	x.m.Store(4, 10<<3)
	x.check(t, x.m)

	x.drop()
	x.m.Store(7, 10<<3)
	ix, err := NewIndex(x.m, "single", numberIfAny, &IndexOptions{Unique: true})
	require.Nil(t, ix)
	require.ErrorContains(t, err, "is unique")
	x.m.Store(8, 10<<3) // it is gone
	x.m.Delete(8)
	x.m.Delete(7)
	x.build(t)
	x.check(t, x.m)
}
