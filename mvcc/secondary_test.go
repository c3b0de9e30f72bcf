package mvcc

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
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
	x.ranks, err[3] = NewOrderedIndexFunc(x.m, "ranks", func(a, b int) int { return cmp.Compare(b, a) }, numberIfAny, unique)
	for _, err := range err {
		require.NoError(t, err)
	}
}

func (x *indexing) drop() {
	for _, ix := range []*Index[int, int, int]{x.tags, x.sizes, x.single, x.ranks} {
		ix.Drop()
	}
}

// newIndexing returns a table, ordered or not, without indexes.
func newIndexing(t *testing.T, ordered bool) *indexing {
	db := NewDB(nil)
	t.Cleanup(db.Close)
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

// check compares all indexes with what the reader sees in the table.
func (x *indexing) check(t require.TestingT, r Reader[int, int]) {
	all := collected(r.All())
	slices.SortFunc(all, byKey)
	bySize := slices.Clone(all)
	slices.SortStableFunc(bySize, func(a, b keyValue) int { return cmp.Compare(a.value>>3, b.value>>3) })
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
	sorted := slices.IsSortedFunc(got, func(a, b keyValue) int { return cmp.Compare(a.value>>3, b.value>>3) })
	require.True(t, sorted)
	byBoth := func(a, b keyValue) int { return cmp.Or(cmp.Compare(a.value>>3, b.value>>3), byKey(a, b)) }
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
}

// What is done to a table with indexes, by whatever call, is what is done to one without, and
// the indexes follow.
func TestIndexes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := newIndexing(t, rapid.Bool().Draw(rt, "ordered"))
		defer x.db.Close()
		early := rapid.IntRange(0, 3).Draw(rt, "records before the indexes")
		for key := range early {
			x.m.Store(key, (key+1)<<3|key)
		}
		x.build(rt)
		model := map[int]int{}
		for key, value := range x.m.All() {
			model[key] = value
		}
		type past struct {
			s    Snapshot[int, int]
			want map[int]int
		}
		var pasts []past
		key := rapid.IntRange(0, 5)
		// Only a record of number n or 0 has value n, but where uniqueness is to be broken.
		value := func(rt *rapid.T, key int) int {
			return rapid.SampledFrom([]int{0, key + 1}).Draw(rt, "number")<<3 | rapid.IntRange(0, 7).Draw(rt, "tags")
		}
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) {
				s := x.m.Snapshot()
				defer s.Close()
				x.check(rt, s)
				got := map[int]int{}
				for key, value := range s.All() {
					got[key] = value
				}
				require.Equal(rt, model, got)
			},
			"store": func(rt *rapid.T) {
				k := key.Draw(rt, "key")
				v := value(rt, k)
				old, had := x.m.Swap(k, v)
				was, there := model[k]
				require.Equal(rt, []any{was, there}, []any{old, had})
				model[k] = v
			},
			"delete": func(rt *rapid.T) {
				k := key.Draw(rt, "key")
				x.m.Delete(k)
				delete(model, k)
			},
			"others": func(rt *rapid.T) {
				k := key.Draw(rt, "key")
				v := value(rt, k)
				old, had := model[k]
				switch rapid.IntRange(0, 5).Draw(rt, "call") {
				case 0:
					actual, loaded := x.m.LoadOrStore(k, v)
					require.Equal(rt, had, loaded)
					model[k] = actual
				case 1:
					require.Equal(rt, had, CompareAndSwap(x.m, k, old, v))
					if had {
						model[k] = v
					}
				case 2:
					actual, ok := x.m.Compute(k, func(old int, loaded bool) (int, ComputeOp) {
						if loaded {
							return 0, DeleteOp
						}
						return v, UpdateOp
					})
					require.Equal(rt, !had, ok)
					if delete(model, k); ok {
						model[k] = actual
					}
				case 3:
					require.Equal(rt, had, CompareAndDelete(x.m, k, old))
					delete(model, k)
				case 4:
					x.m.DeleteFunc(func(key, value int) bool { return key == k && value == old })
					delete(model, k)
				case 5:
					x.m.Merge(k, func(old int, ok bool) int { return old&^7 | v&7 })
					model[k] = old&^7 | v&7
				}
			},
			"clear": func(*rapid.T) {
				x.m.Clear()
				clear(model)
			},
			"update": func(rt *rapid.T) {
				n := rapid.IntRange(1, 4).Draw(rt, "writes")
				level := rapid.SampledFrom([]Level{LevelSerializable, LevelSnapshot}).Draw(rt, "level")
				fail := errors.New("undone")
				err := x.m.Update(bg, &TxOptions{Isolation: level}, func(tx Tx[int, int]) error {
					for range n {
						k := key.Draw(rt, "key")
						v := value(rt, k)
						switch rapid.IntRange(0, 3).Draw(rt, "write") {
						case 0:
							tx.Set(k, v)
							model[k] = v
						case 1:
							tx.Delete(k)
							delete(model, k)
						case 2:
							tx.Merge(k, func(old int, _ bool) int { return old ^ 1 })
							model[k] ^= 1
						case 3:
							require.ErrorIs(rt, tx.Savepoint(func() error {
								tx.Set(k, v)
								tx.Set((k+1)%6, (k+1)<<3) // perhaps of another one
								tx.Delete((k + 2) % 6)
								return fail
							}), fail)
						}
						x.check(rt, tx)
					}
					return nil
				})
				require.NoError(rt, err)
			},
			"rebuild": func(rt *rapid.T) {
				x.drop()
				x.build(rt)
				for _, p := range pasts {
					p.s.Close()
				}
				pasts = nil
			},
			"keep": func(*rapid.T) {
				want := map[int]int{}
				for k, v := range model {
					want[k] = v
				}
				pasts = append(pasts, past{x.m.Snapshot(), want})
			},
			"look back": func(rt *rapid.T) {
				for _, p := range pasts {
					x.check(rt, p.s)
				}
			},
		})
		for _, p := range pasts {
			p.s.Close()
		}
	})
}

// No transaction leaves two records with an index key of a unique index, by whatever way, and
// what stands in between does not matter.
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
	// Again, and undone; and what was undone does not count.
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

	// A loop visits what there was when it began.
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

// A wrapped is a reader of another type.
type wrapped struct{ Tx[int, int] }

func must[T any](value T, ok bool) T {
	if !ok {
		panic("no value")
	}
	return value
}

// Indexes are made and dropped while others write, by all ways there are, and while readers
// compare the indexes with the table, in each snapshot.
func TestIndexesBesideWriters(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprintf("ordered=%v", ordered), func(t *testing.T) {
			x := newIndexing(t, ordered)
			keys, rounds := 200, 60
			if testing.Short() {
				rounds = 8
			}
			stop := make(chan struct{})
			var writers sync.WaitGroup
			for w := range 4 {
				rng := rand.New(rand.NewPCG(uint64(w), 1))
				writers.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
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
							err := x.m.Update(bg, &TxOptions{Isolation: level, MaxAttempts: 1 << 30}, func(tx Tx[int, int]) error {
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
								panic(err)
							}
						}
					}
				})
			}
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
			close(stop)
			writers.Wait()
			x.build(t)
			x.check(t, x.m)
			x.m.Clear()
			x.check(t, x.m)
			x.drop()
			require.Equal(t, []string{"records"}, x.db.Tables())
			require.Equal(t, 1, len(x.db.tables))
		})
	}
}

// A transaction conflicts with what changes the answer that it got from an index, and with
// nothing else.
func TestIndexConflicts(t *testing.T) {
	for _, c := range []struct {
		name           string
		read           func(x *indexing, tx Tx[int, int])
		conflict, fine func(x *indexing)
	}{
		{"absent", func(x *indexing, tx Tx[int, int]) { collected(x.tags.Get(tx, 2)) },
			func(x *indexing) { x.m.Store(9, 4) }, func(x *indexing) { x.m.Store(9, 2) }},
		{"unique absent", func(x *indexing, tx Tx[int, int]) { collected(x.single.Get(tx, 9)) },
			func(x *indexing) { x.m.Store(8, 9<<3) }, func(x *indexing) { x.m.Store(8, 8<<3) }},
		{"record", func(x *indexing, tx Tx[int, int]) { x.single.First(tx, 1) },
			func(x *indexing) { x.m.Store(1, 1<<3|7) }, func(x *indexing) { x.m.Store(2, 2<<3|7) }},
		{"range", func(x *indexing, tx Tx[int, int]) { collected(x.sizes.Ascend(tx, From(2).UpTo(4))) },
			func(x *indexing) { x.m.Store(9, 4<<3) }, func(x *indexing) { x.m.Store(9, 5<<3) }},
		{"first of a range", func(x *indexing, tx Tx[int, int]) { first(x.ranks.Ascend(tx, Range[int]{})) },
			func(x *indexing) { x.m.Store(9, 9<<3) }, func(x *indexing) { x.m.Delete(1) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, conflict := range []bool{true, false} {
				x := newIndexing(t, false)
				x.build(t)
				x.m.Store(1, 1<<3|1)
				x.m.Store(2, 2<<3|2)
				x.m.Store(3, 3<<3)
				tx := x.m.Begin(nil)
				c.read(x, tx)
				tx.Set(100, 0)
				if conflict {
					c.conflict(x)
				} else {
					c.fine(x)
				}
				if err := tx.Commit(); conflict {
					var e *ConflictError
					require.ErrorAs(t, err, &e)
					require.IsType(t, 0, e.Key)
				} else {
					require.NoError(t, err)
				}
				x.check(t, x.m)
			}
		})
	}
}

// What was under way when an index was made, or dropped, conflicts once if it has written.
func TestIndexMadeMeanwhile(t *testing.T) {
	x := newIndexing(t, false)
	x.m.Store(1, 1<<3)
	for _, over := range []bool{false, true} {
		begin := func() (Tx[int, int], func() error) {
			if over {
				tx := x.db.Begin(nil)
				return x.m.In(tx), tx.Commit
			}
			tx := x.m.Begin(nil)
			return tx, tx.Commit
		}
		tx, commit := begin()
		tx.Merge(2, func(int, bool) int { return 2 << 3 })
		tx.Get(1)
		blind, commitBlind := begin()
		blind.Set(3, 3<<3)
		blind.Set(4, 4<<3)
		x.build(t)
		require.PanicsWithValue(t, `mvcc: index "tags" was not complete when the snapshot or transaction began`,
			func() { x.tags.First(tx, 1) })
		require.ErrorIs(t, commit(), ErrConflict)
		require.ErrorIs(t, commitBlind(), ErrConflict)
		x.check(t, x.m)

		tx, commit = begin()
		tx.Set(2, 2<<3)
		x.drop()
		require.ErrorIs(t, commit(), ErrConflict)
		require.PanicsWithValue(t, `mvcc: index "tags" was dropped`, func() { x.tags.First(x.m, 1) })
	}
	// What would write one key without having read is refused as well, not more.
	for _, merge := range []bool{false, true} {
		tx := x.m.Begin(nil)
		if merge {
			tx.Merge(5, func(int, bool) int { return 1 << 3 })
		} else {
			tx.Set(5, 1<<3) // as record 1 has it
		}
		x.build(t)
		require.ErrorIs(t, tx.Commit(), ErrConflict)
		x.check(t, x.m)
		x.drop()
	}
	runs := 0
	require.NoError(t, x.m.Update(bg, nil, func(tx Tx[int, int]) error {
		runs++
		tx.Get(1)
		if runs < 3 {
			elsewhere(func() { x.m.Store(1, 1<<3|runs) })
		}
		if runs == 2 {
			x.build(t)
		}
		tx.Set(5, 5<<3)
		x.m.Has(1)
		return nil
	}))
	require.LessOrEqual(t, runs, 4)
	require.False(t, x.m.favour.Any(), "nobody is suspected any more")
	x.check(t, x.m)

	// Who has read an index that was dropped has missed what was written since.
	doctors, flag := x.db.Begin(nil), NewTable[int, int](x.db, "flag", nil)
	collected(x.tags.Get(x.m.In(doctors), 2))
	flag.In(doctors).Set(1, 1)
	other := x.db.Begin(nil)
	require.False(t, flag.In(other).Has(1))
	x.drop()
	x.m.In(other).Set(50, 4)
	require.NoError(t, other.Commit())
	require.ErrorIs(t, doctors.Commit(), ErrConflict)
	flag.Close()

	x.build(t)
	x.m.Close()
	require.Empty(t, x.db.tables)
	x.m.Store(6, 6<<3)
	x.check(t, x.m)
}

func TestIndexMisuse(t *testing.T) {
	x := newIndexing(t, false)
	x.build(t)
	x.m.Store(3, 3<<3)
	alone := New[int, int](nil)
	defer alone.Close()
	other := NewTable[int, int](x.db, "other", nil)
	for want, call := range map[string]func(){
		"NewIndex: the map is not a table":             func() { _, _ = NewIndex(alone, "a", tagsOf, nil) },
		"NewIndex: the name is empty":                  func() { _, _ = NewIndex(x.m, "", tagsOf, nil) },
		"NewOrderedIndex: keys is nil":                 func() { _, _ = NewOrderedIndex[int](x.m, "a", nil, nil) },
		"NewOrderedIndexFunc: compare is nil":          func() { _, _ = NewOrderedIndexFunc(x.m, "a", nil, tagsOf, nil) },
		`an index or table "records/tags" already`:     func() { _, _ = NewIndex(x.m, "tags", tagsOf, nil) },
		`the reader is not one of table "records"`:     func() { x.tags.First(other, 1) },
		"index \"tags\": the reader is a mvcc.wrapped": func() { x.tags.First(wrapped{}, 1) },
		`index "tags" has no order`:                    func() { x.tags.Ascend(x.m, From(1)) },
		"the Map is a zero value":                      func() { _, _ = NewIndex(&Map[int, int]{}, "a", tagsOf, nil) },
		"transaction or snapshot has ended":            func() { s := x.m.Snapshot(); s.Close(); x.tags.First(s, 1) },
	} {
		func() {
			defer func() { require.Contains(t, fmt.Sprint(recover()), want) }()
			call()
		}()
	}
	_, ok := Table[int, int](x.db, "records/single")
	require.False(t, ok, "the table of an index is its own")
	require.Panics(t, func() {
		_, _ = NewIndex(x.m, "never", func(int, int) []int { panic("unlucky") }, nil)
	}, "there is a record")
	require.Len(t, x.m.schema.Load().indexes, 4)
	require.Len(t, x.db.tables, 6)

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
	bad.Drop()
	bad.Drop()
	require.Equal(t, "bad", bad.Name())
}

// What was dropped or closed keeps no memory.
func TestIndexesAreCollected(t *testing.T) {
	db := NewDB(nil)
	defer db.Close()
	var gone []func() bool
	watch := func(x *indexing) {
		tags, single, m := weak.Make(x.tags.entries), weak.Make(x.single.unique), weak.Make(x.m)
		gone = append(gone, func() bool {
			return tags.Value() == nil && single.Value() == nil && (m.Value() == nil || !m.Value().closed.Load())
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
	eventually(t, func() bool {
		_ = db.Reclaim(bg)
		runtime.GC()
		return !slices.ContainsFunc(gone, func(gone func() bool) bool { return !gone() })
	}, "an index is still in memory")
	require.Equal(t, 100, x.m.Len())
}
