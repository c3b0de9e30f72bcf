package mvcc

import (
	"cmp"
	"slices"
	"unsafe"
)

// An entry says that a record has an index key. Entries are in the order of their index
// keys, and then of the keys of the records, as the collation says.
type entry[I, K comparable] struct {
	by    uint64 // the hash of index, if index keys have no order
	of    uint64 // the hash of key, if the keys of the table have none
	index I
	key   K
	// edge is not 0 for an end of a range: before all entries with the index key, or after.
	edge int8
}

func (e entry[I, K]) indexKey() any { return e.index }

// A collation is the order of entries. What has no order of its own is ordered by a hash,
// and by another one if those are the same: that two of 10^9 keys have both in common
// happens once in 10^20 times.
type collation[I, K comparable] struct {
	byIndex    func(a, b I) int // or nil
	byKey      func(a, b K) int // or nil
	indexes    [2]hasher
	keysOfThem [2]hasher
}

func newCollation[I, K comparable](
	byIndex func(a, b I) int, byKey func(a, b K) int,
) *collation[I, K] {
	return &collation[I, K]{byIndex, byKey,
		[2]hasher{newHasher[I](), newHasher[I]()}, [2]hasher{newHasher[K](), newHasher[K]()}}
}

// entry returns the entry of a record. It panics with a runtime error if index cannot be
// hashed and has no order.
func (c *collation[I, K]) entry(index I, key K) entry[I, K] {
	e := c.edge(index, 0)
	if e.key = key; c.byKey == nil {
		e.of = c.keysOfThem[0].sum(unsafe.Pointer(&key))
	}
	return e
}

// edge returns what comes before all entries with the index key, or after.
func (c *collation[I, K]) edge(index I, side int8) entry[I, K] {
	e := entry[I, K]{index: index, edge: side}
	if c.byIndex == nil {
		e.by = c.indexes[0].sum(unsafe.Pointer(&index))
	}
	return e
}

// entryRange returns the range of the entries whose index keys are in r.
func (c *collation[I, K]) entryRange(r Range[I]) (of Range[entry[I, K]]) {
	switch r.low.kind {
	case inclusive:
		of = From(c.edge(r.low.key, -1))
	case exclusive:
		of = From(c.edge(r.low.key, +1))
	}
	switch r.high.kind {
	case inclusive:
		of = of.UpTo(c.edge(r.high.key, +1))
	case exclusive:
		of = of.UpTo(c.edge(r.high.key, -1))
	}
	return of
}

func (c *collation[I, K]) compare(a, b entry[I, K]) int {
	if n := collate(c.byIndex, &c.indexes[1], a.by, b.by, a.index, b.index); n != 0 {
		return n
	}
	if a.edge|b.edge != 0 {
		return cmp.Compare(a.edge, b.edge)
	}
	checkDistinct(a.index, b.index)
	return collate(c.byKey, &c.keysOfThem[1], a.of, b.of, a.key, b.key)
}

// collate compares x and y by compare, or by their hashes, and by another hash.
func collate[T comparable](
	compare func(a, b T) int, other *hasher, hashX, hashY uint64, x, y T,
) int {
	switch {
	case compare != nil:
		return compare(x, y)
	case hashX != hashY:
		return cmp.Compare(hashX, hashY)
	case x == y:
		return 0
	}
	return cmp.Compare(other.sum(unsafe.Pointer(&x)), other.sum(unsafe.Pointer(&y)))
}

func (ix *Index[I, K, V]) named() string { return ix.name }

// close closes the tables of the index.
func (ix *Index[I, K, V]) close() {
	if ix.unique != nil {
		ix.unique.Close()
	} else {
		ix.entries.Close()
	}
}

func (ix *Index[I, K, V]) clear(tx DBTx) {
	if ix.unique != nil {
		ix.unique.at.inside(tx).clear()
	} else {
		ix.entries.at.inside(tx).clear()
	}
}

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
		if !equal(index, index) { // which panics for what cannot be compared
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

// without returns what of list is not in the other one, once each.
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

// fewIndexKeys is up to how many index keys are compared one by one.
const fewIndexKeys = 32

// add gives the record the index key, unless it has it.
func (ix *Index[I, K, V]) add(tx DBTx, index I, key K) {
	index, key = ix.ownIndex.own(index), ix.ownKey.own(key)
	if ix.unique == nil {
		ix.entries.inside(tx).Set(ix.entry(index, key), none{})
		return
	}
	owners := ix.unique.inside(tx)
	switch owner, ok := owners.Get(index); {
	case !ok:
		owners.Set(index, key)
	case owner != key:
		tx.extras().add(extraKey{ix, index}, key)
	}
}

// remove takes the index key from the record, if it has it.
func (ix *Index[I, K, V]) remove(tx DBTx, index I, key K) {
	if ix.unique == nil {
		ix.entries.inside(tx).Delete(ix.entry(index, key))
		return
	}
	extra, at, owners := tx.extras(), extraKey{ix, index}, ix.unique.inside(tx)
	if extra.remove(at, key) {
		return
	}
	if owner, ok := owners.Get(index); !ok || owner != key {
		return // the index is being made
	}
	if all := extra.of[at]; len(all) > 0 {
		owners.Set(ix.ownIndex.own(index), all[0].(K))
		extra.remove(at, all[0])
	} else {
		owners.Delete(index)
	}
}

// none is the type of what a table of entries says of its keys.
type none = struct{}
