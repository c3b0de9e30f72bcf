package mvcc

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// The records of these tests are small numbers in which their index keys are: bits 0 to 2
// are tags, of which a record may have several, the rest is a number of its own.
func tagsOf(_ int, value int) (tags []int) {
	for bit := range 3 {
		if value&(1<<bit) != 0 {
			tags = append(tags, bit, bit) // twice is once
		}
	}
	return tags
}

func numberOf(_ int, value int) []int { return []int{value >> 3} }

// numberIfAny is for the unique index: number 0 is none.
func numberIfAny(_ int, value int) []int {
	if value>>3 == 0 {
		return nil
	}
	return []int{value >> 3}
}

// An indexing is a table with an index of each kind.
type indexing struct {
	db     *DB
	m      *Map[int, int]
	tags   *Index[int, int, int] // without order
	sizes  *Index[int, int, int] // ordered
	single *Index[int, int, int] // unique
	ranks  *Index[int, int, int] // unique and ordered
}

func (x *indexing) build(t require.TestingT) {
	var err [4]error
	unique := &IndexOptions{Unique: true}
	x.tags, err[0] = NewIndex(x.m, "tags", tagsOf, nil)
	x.sizes, err[1] = NewOrderedIndex(x.m, "sizes", numberOf, nil)
	x.single, err[2] = NewIndex(x.m, "single", numberIfAny, unique)
	x.ranks, err[3] = NewOrderedIndexFunc(x.m, "ranks", func(a, b int) int {
		return cmp.Compare(b, a)
	}, numberIfAny, unique)
	for _, err := range err {
		require.NoError(t, err)
	}
}

func (x *indexing) drop() {
	for _, ix := range []*Index[int, int, int]{x.tags, x.sizes, x.single, x.ranks} {
		ix.drop()
	}
}

// newIndexing returns a table, ordered or not, without indexes.
func newIndexing(t *testing.T, ordered bool) *indexing {
	db := newDB(t, nil)
	if ordered {
		return &indexing{db: db, m: NewOrderedTable[int, int](db, "records", nil)}
	}
	return &indexing{db: db, m: NewTable[int, int](db, "records", nil)}
}

func collected(seq iter.Seq2[int, int]) (all []keyValue) {
	for key, value := range seq {
		all = append(all, keyValue{key, value})
	}
	return all
}

func byKey(a, b keyValue) int { return cmp.Compare(a.key, b.key) }

// check compares all indexes with the records that the reader sees in the table.
func (x *indexing) check(t require.TestingT, r Reader[int, int]) {
	all := collected(r.All())
	slices.SortFunc(all, byKey)
	bySize := slices.Clone(all)
	slices.SortStableFunc(bySize, func(a, b keyValue) int {
		return cmp.Compare(a.value>>3, b.value>>3)
	})
	var ranked []keyValue
	for tag := range 4 {
		var want []keyValue
		for _, kv := range all {
			if kv.value&7&(1<<tag) != 0 {
				want = append(want, kv)
			}
		}
		got := collected(x.tags.Get(r, tag))
		slices.SortFunc(got, byKey)
		require.Equal(t, want, got, "tag %d of %v", tag, all)
	}
	for _, kv := range bySize {
		if kv.value>>3 != 0 {
			ranked = append(ranked, kv)
			key, value, ok := x.single.First(r, kv.value>>3)
			require.Equal(t, []any{kv.key, kv.value, true}, []any{key, value, ok})
		}
	}
	require.Empty(t, collected(x.single.Get(r, 1000)))
	got := collected(x.sizes.Ascend(r, Range[int]{}))
	require.Equal(t, len(bySize), len(got))
	sorted := slices.IsSortedFunc(got, func(a, b keyValue) int {
		return cmp.Compare(a.value>>3, b.value>>3)
	})
	require.True(t, sorted)
	byBoth := func(a, b keyValue) int {
		return cmp.Or(cmp.Compare(a.value>>3, b.value>>3), byKey(a, b))
	}
	slices.SortFunc(got, byBoth)
	require.Equal(t, bySize, got)
	require.Equal(t, ranked, collected(x.ranks.Descend(r, Range[int]{})))
	slices.Reverse(ranked)
	require.Equal(t, ranked, collected(x.ranks.Ascend(r, Range[int]{})))
	var some []keyValue
	for _, kv := range all {
		if n := kv.value >> 3; n > 1 && n <= 3 {
			some = append(some, kv)
		}
	}
	got = collected(x.sizes.Descend(r, After(1).UpTo(3)))
	slices.SortFunc(got, byKey)
	require.Equal(t, some, got)
	require.Equal(t, len(some), x.sizes.Count(r, After(1).UpTo(3)))
	require.Equal(t, len(all), x.sizes.Len(r))
	require.Len(t, slices.Collect(x.ranks.Keys(r, Range[int]{})), len(ranked))
	least, _, ok := x.sizes.Min(r)
	if require.Equal(t, len(all) > 0, ok); ok {
		require.Equal(t, bySize[0].value>>3, least.IndexKey)
	}
}

func must[T any](value T, ok bool) T {
	if !ok {
		panic("no value")
	}
	return value
}

// The misuse that docs/misuse.md does not show.
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

// Indexes are made and dropped while others write, by all ways there are, and while readers
// compare the indexes with the table, in each snapshot.
func TestIndexesBesideWriters(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprintf("ordered=%v", ordered), func(t *testing.T) {
			x := newIndexing(t, ordered)
			keys, rounds := 200, stage.Sizes(60, 2)
			writers := stage.NewWorkers(t)
			writers.Run(stage.Sizes(4, 2), func(w int) error {
				rng := rand.New(rand.NewPCG(uint64(w), 1))
				for !writers.Ended() {
					k := rng.IntN(keys)
					v := (k+1)*rng.IntN(2)<<3 | rng.IntN(8)
					switch rng.IntN(6) {
					case 0:
						x.m.Store(k, v)
					case 1:
						x.m.Delete(k)
					case 2:
						x.m.Compute(k, func(old int, _ bool) (int, ComputeOp) { return old ^ 1, UpdateOp })
					default:
						level := []Level{LevelSerializable, LevelSnapshot}[rng.IntN(2)]
						err := x.m.Update(bg, &TxOptions{Isolation: level, MaxAttempts: 1 << 30},
							func(tx Tx[int, int]) error {
								tx.Set(k, v)
								other := rng.IntN(keys)
								if rng.IntN(2) == 0 {
									tx.Get(other)
								}
								tx.Merge(other, func(old int, _ bool) int { return old ^ 2 })
								tx.Delete(rng.IntN(keys))
								return nil
							})
						if err != nil {
							return err
						}
					}
				}
				return nil
			})
			for range rounds {
				old := x.m.Snapshot()
				x.build(t)
				require.Panics(t, func() { x.tags.First(old, 1) })
				old.Close()
				for range 3 {
					s := x.m.Snapshot()
					x.check(t, s)
					s.Close()
					require.NoError(t, x.m.View(func(s Snapshot[int, int]) error {
						x.check(t, s)
						return nil
					}))
				}
				x.drop()
			}
			writers.Finish(t)
			x.build(t)
			x.check(t, x.m)
			x.m.Clear()
			x.check(t, x.m)
			x.drop()
			require.Equal(t, []string{"records"}, x.db.Tables())
			require.Equal(t, 1, len(dbAt(x.db).tables))
		})
	}
}

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
