package mvcc

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func newOrdered[V any](t testing.TB, opts *Options) *Map[int, V] {
	m := NewOrdered[int, V](opts)
	t.Cleanup(m.Close)
	return m
}

type keyValue struct{ key, value int }

func pairs(seq iter.Seq2[int, int]) (all []keyValue) {
	for key, value := range seq {
		all = append(all, keyValue{key, value})
	}
	return all
}

// expected returns the pairs of a Go map that are in a range, in order.
func expected(all map[int]int, r Range[int], down bool) (want []keyValue) {
	by := naturalOrder(reflect.TypeFor[int]())
	for key, value := range all {
		if in := spanOf(&r); by.Side(&in, unsafe.Pointer(&key)) == 0 {
			want = append(want, keyValue{key, value})
		}
	}
	slices.SortFunc(want, func(a, b keyValue) int {
		if down {
			a, b = b, a
		}
		return cmp.Compare(a.key, b.key)
	})
	return want
}

// An ordered map beside a Go map, through snapshots, transactions with own writes and
// savepoints, and the map itself.
func TestOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := NewOrdered[int, int](&Options{ReclaimInterval: 1e6, PruneThreshold: 1})
		defer m.Close()
		model := map[int]int{}
		key := rapid.IntRange(-20, 20)
		check := func(ascend, descend func(Range[int]) iter.Seq2[int, int], model map[int]int) {
			for _, r := range ranges(key.Draw(t, "low"), key.Draw(t, "high")) {
				require.Equal(t, expected(model, r, false), pairs(ascend(r)))
				require.Equal(t, expected(model, r, true), pairs(descend(r)))
			}
		}
		write := func(w interface {
			Set(int, int)
			Delete(int)
			Merge(int, func(int, bool) int)
		}, model map[int]int) {
			for range rapid.IntRange(0, 12).Draw(t, "writes") {
				switch k := key.Draw(t, "key"); rapid.IntRange(0, 3).Draw(t, "what") {
				case 0, 1:
					w.Set(k, k*k)
					model[k] = k * k
				case 2:
					w.Delete(k)
					delete(model, k)
				case 3:
					w.Merge(k, func(old int, _ bool) int { return old + 1 })
					model[k]++
				}
			}
		}
		for range 6 {
			write(m, model)
			old, s := maps.Clone(model), m.Snapshot()
			tx := m.Begin(nil)
			mine := maps.Clone(model)
			write(tx, mine)
			check(tx.Ascend, tx.Descend, mine)
			if rapid.Bool().Draw(t, "savepoint") {
				inner := maps.Clone(mine)
				_ = tx.Savepoint(func() error {
					write(tx, inner)
					check(tx.Ascend, tx.Descend, inner)
					return fmt.Errorf("no")
				})
			}
			check(tx.Ascend, tx.Descend, mine)
			if rapid.Bool().Draw(t, "commit") {
				require.NoError(t, tx.Commit())
				model = mine
			} else {
				tx.Rollback()
			}
			check(s.Ascend, s.Descend, old)
			check(m.Ascend, m.Descend, model)
			s.Close()
			if len(model) > 0 {
				low, _, _ := m.Min()
				high, value, ok := m.Max()
				require.Equal(t, slices.Min(slices.Collect(maps.Keys(model))), low)
				require.Equal(t, slices.Max(slices.Collect(maps.Keys(model))), high)
				require.True(t, ok && value == model[high])
			} else if _, _, ok := m.Min(); ok {
				t.Fatal("an empty map has a lowest key")
			}
		}
		for k := range model {
			m.Delete(k)
		}
		require.NoError(t, m.Reclaim(bg))
		require.NoError(t, m.Reclaim(bg))
		require.Empty(t, heads(m), "keys that are gone")
		require.LessOrEqual(t, m.index.Bytes(), uint64(4096))
	})
}

func TestOrderedFunc(t *testing.T) {
	fold := func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
	}
	m := NewOrderedFunc[string, int](fold, nil)
	defer m.Close()
	db := NewDB(nil)
	defer db.Close()
	for _, m := range []*Map[string, int]{m, NewOrderedTableFunc[string, int](db, "t", fold, nil)} {
		for i, key := range []string{"b", "A", "C", "a"} {
			m.Store(key, i)
		}
		var keys []string
		for key := range m.Ascend(Range[string]{}) {
			keys = append(keys, key)
		}
		require.Equal(t, []string{"A", "a", "b", "C"}, keys)
	}
	require.Panics(t, func() { NewOrderedFunc[int, int](nil, nil) })
	require.Panics(t, func() { NewOrderedTableFunc[int, int](db, "u", nil, nil) })
	plain := newMap[int, int](t, nil)
	require.Panics(t, func() { plain.Ascend(Range[int]{}) })
	require.Panics(t, func() { plain.Min() })
}
