package mvcc

import (
	"reflect"
	"slices"

	"github.com/mvccmap/mvccmap/internal/engine/hasher"
)

func (ix *Index[I, K, V]) named() string { return ix.name }

func (ix *Index[I, K, V]) describe() (key reflect.Type, table *engine, unique, ordered bool) {
	return hasher.TypeOf((*I)(nil)), ix.table, ix.unique.at != nil, ix.order != nil
}

func (ix *Index[I, K, V]) distinct(most int) (n int) {
	if ix.since.Load() == 0 {
		return -1
	}
	defer func() {
		if recover() != nil { // compare may panic
			n = -1
		}
	}()
	for range ix.Keys(ix.m, Range[I]{}) {
		if n++; n == most {
			break
		}
	}
	return n
}

// close closes the table of the index.
func (ix *Index[I, K, V]) close() { ix.table.close() }

func (ix *Index[I, K, V]) clear(tx DBTx) { ix.table.inside(tx).deleteAll() }

func (ix *Index[I, K, V]) change(
	before K, old V, had bool, key K, value V, has bool,
) func(tx DBTx) {
	var was, is []I
	if had {
		was = ix.keys(before, old)
	}
	if has {
		is = ix.keys(key, value)
	}
	if slices.Equal(was, is) && ix.sound {
		return nil
	}
	gone, come := without(was, is), without(is, was)
	for _, index := range come {
		if !equal(index, index) { // panics for a key that cannot be compared
			panic(ErrBadKey)
		}
	}
	if len(gone)+len(come) == 0 {
		return nil
	}
	return func(tx DBTx) {
		for _, index := range gone {
			ix.remove(tx, index, key)
		}
		for _, index := range come {
			ix.add(tx, index, key)
		}
	}
}

// without returns the index keys of list that are not in other, once each.
func without[I comparable](list, other []I) (rest []I) {
	if len(list)+len(other) > fewIndexKeys {
		not := make(map[I]struct{}, len(list)+len(other))
		for _, index := range other {
			not[index] = struct{}{}
		}
		return slices.DeleteFunc(slices.Clone(list), func(index I) bool { return repeated(not, index) })
	}
	for i, index := range list {
		if !slices.Contains(other, index) && !slices.Contains(list[:i], index) {
			rest = append(rest, index)
		}
	}
	return rest
}

// fewIndexKeys is the most index keys that are compared one by one.
const fewIndexKeys = 32

// add gives the record the index key, unless the record has it.
func (ix *Index[I, K, V]) add(tx DBTx, index I, key K) {
	index, key = ix.ownIndex.own(index), ix.ownKey.own(key)
	if ix.unique.at == nil {
		ix.entries.set(tx, entryOf(ix.collation, index, key), none{})
		return
	}
	switch owner, ok := ix.unique.get(moment(tx), true, index); {
	case !ok:
		ix.unique.set(tx, index, key)
	case owner != key:
		tx.extras().add(extraKey{ix, index}, key)
	}
}

// remove takes the index key from the record, if the record has it.
func (ix *Index[I, K, V]) remove(tx DBTx, index I, key K) {
	if ix.unique.at == nil {
		ix.entries.remove(tx, entryOf(ix.collation, index, key))
		return
	}
	extra, at := tx.extras(), extraKey{ix, index}
	if extra.remove(at, key) {
		return
	}
	if owner, ok := ix.unique.get(moment(tx), true, index); !ok || owner != key {
		return // the index is being made
	}
	if all := extra.of[at]; len(all) > 0 {
		ix.unique.set(tx, ix.ownIndex.own(index), all[0].(K))
		extra.remove(at, all[0])
	} else {
		ix.unique.remove(tx, index)
	}
}

// none is the type of the values in a table of entries.
type none = struct{}
