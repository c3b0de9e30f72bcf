package oracle

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A data is what a program works on: types of keys and of values. The first keys are those of
// most programs; all are those of the others.
type data[K, V comparable] struct {
	keys    []K
	compare func(a, b K) int
	// make makes a value of a number, the same each time, and number undoes that.
	make   func(n int) V
	number func(value V) int
	// prefix returns the keys that begin as this one, and their bounds; nil if keys have no
	// beginning.
	prefix func(key K) (mvcc.Range[K], span[K])
	// hashed says that an index of a table without an order has records in that of a hash.
	hashed bool
	// A map and a table with an order.
	newMap   func(opts *mvcc.Options) *mvcc.Map[K, V]
	newTable func(db *mvcc.DB, name string, opts *mvcc.TableOptions) *mvcc.Map[K, V]
}

// ints are keys of a machine word, and values that are pointers.
func ints() data[int, *int] {
	known := map[int]*int{}
	d := data[int, *int]{compare: cmp.Compare[int], newMap: mvcc.NewOrdered[int, *int],
		newTable: mvcc.NewOrderedTable[int, *int]}
	d.number = func(value *int) int {
		if value == nil {
			return 0
		}
		return *value
	}
	d.make = func(n int) *int {
		if known[n] == nil {
			known[n] = &n
		}
		return known[n]
	}
	for i := range 12 + manyKeys {
		d.keys = append(d.keys, i)
	}
	return d
}

// texts are keys with prefixes.
func texts() data[string, int] {
	d := data[string, int]{compare: cmp.Compare[string], make: same, number: same,
		newMap: mvcc.NewOrdered[string, int], newTable: mvcc.NewOrderedTable[string, int],
		keys: []string{"", "a", "a\xff", "aa", "ab", "b", "ba", "\xff", "\xff\xff"}}
	for i := range manyKeys {
		d.keys = append(d.keys, fmt.Sprint("key ", i))
	}
	d.prefix = func(key string) (mvcc.Range[string], span[string]) {
		in := span[string]{low: &key}
		end := key
		for strings.HasSuffix(end, "\xff") {
			end = end[:len(end)-1]
		}
		if end != "" {
			end = end[:len(end)-1] + string([]byte{end[len(end)-1] + 1})
			in.high, in.highOut = &end, true
		}
		return mvcc.Prefix(key), in
	}
	return d
}

// mixed are keys of dynamic types, so that the map asks whether keys equal themselves.
func mixed() data[any, int] {
	compare := func(a, b any) int {
		return cmp.Compare(fmt.Sprintf("%v %T", a, a), fmt.Sprintf("%v %T", b, b))
	}
	d := data[any, int]{compare: compare, make: same, number: same, hashed: true,
		newMap: func(opts *mvcc.Options) *mvcc.Map[any, int] {
			return mvcc.NewOrderedFunc[any, int](compare, opts)
		},
		newTable: func(db *mvcc.DB, name string, opts *mvcc.TableOptions) *mvcc.Map[any, int] {
			return mvcc.NewOrderedTableFunc[any, int](db, name, compare, opts)
		}}
	// Equal ones of different types are different keys, also if their bytes are the same, as of uint.
	for i := range (12 + manyKeys) / 8 {
		d.keys = append(d.keys, i, uint(i), int8(i), int16(i), float64(i), fmt.Sprint(i),
			[2]any{i, "a"}, struct{ A, B any }{"a", i})
	}
	return d
}

func same(n int) int { return n }
