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
	"pgregory.net/rapid"

	"github.com/mvccmap/mvccmap/internal/stage"
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
	x.checkPages(t, r, all)
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
			return rapid.SampledFrom([]int{0, key + 1}).Draw(rt, "number")<<3 | rapid.IntRange(0,
				7).Draw(rt, "tags")
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

// Indexes are made and dropped while others write, by all ways there are, and while readers
// compare the indexes with the table, in each snapshot.
func TestIndexesBesideWriters(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprintf("ordered=%v", ordered), func(t *testing.T) {
			x := newIndexing(t, ordered)
			keys, rounds := 200, stage.Sizes(60, 2)
			writers := stage.NewCrew(t)
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
