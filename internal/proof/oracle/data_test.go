package oracle

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A data is the material of a program: types of keys and of values. The first keys are those
// of most programs; all are those of the others.
type data[K, V comparable] struct {
	keys    []K
	compare func(a, b K) int
	// make makes a value of a number, the same each time, and number undoes that.
	make   func(n int) V
	number func(value V) int
	// prefix returns the keys that begin as this one, and their bounds; nil if keys have no
	// beginning.
	prefix func(key K) (mvcc.Range[K], span[K])
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
	d := data[string, int]{compare: cmp.Compare[string], make: identity, number: identity,
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

func identity(n int) int { return n }
