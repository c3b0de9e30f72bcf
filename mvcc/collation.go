package mvcc

import (
	"bytes"
	"cmp"
	"fmt"
	"math/bits"
	"reflect"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/tree"
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
// happens once in 10^20 times. It gets entries by their addresses, and knows where in them what is:
// nothing of it is compiled for each type of index.
type collation struct {
	index, key             *order // of the index keys, and of the keys of the records, or nil
	indexes                [2]hasher
	keysOfThem             [2]hasher
	indexAt, keyAt, edgeAt uintptr // by and of come first
}

// newCollation returns the order of entries of an index.
func newCollation[I, K comparable](index, key *order) *collation {
	var e entry[I, K]
	return &collation{index, key,
		[2]hasher{newHasher[I](), newHasher[I]()}, [2]hasher{newHasher[K](), newHasher[K]()},
		unsafe.Offsetof(e.index), unsafe.Offsetof(e.key), unsafe.Offsetof(e.edge)}
}

// order returns the collation as that of a table. It has bits, where the slices of index keys and
// of the keys of records are all of these, or one of them is a hash: so nearly all are told apart
// without a look at a version.
func (c *collation) order() *order {
	if c.index != nil && !c.index.Exact() && !c.index.Text() {
		return &order{Order: tree.OrderBy(c.compare)}
	}
	return &order{Order: tree.OrderOfBits(c.compare, c.bits, c.common)}
}

// entryOf returns the entry of a record. It panics with a runtime error if index cannot be
// hashed and has no order.
func entryOf[I, K comparable](c *collation, index I, key K) entry[I, K] {
	e := edgeOf[I, K](c, index, 0)
	e.key = key
	e.of = c.hashKey(unsafe.Pointer(&e.key))
	return e
}

// edgeOf returns what comes before all entries with the index key, or after.
func edgeOf[I, K comparable](c *collation, index I, side int8) entry[I, K] {
	e := entry[I, K]{index: index, edge: side}
	e.by = c.hashIndex(unsafe.Pointer(&e.index))
	return e
}

//go:noinline
func (c *collation) hashIndex(index unsafe.Pointer) uint64 {
	if c.index != nil {
		return 0
	}
	return c.indexes[0].sum(index)
}

//go:noinline
func (c *collation) hashKey(key unsafe.Pointer) uint64 {
	if c.key != nil {
		return 0
	}
	return c.keysOfThem[0].sum(key)
}

// The parts of an entry.
func (c *collation) by(e unsafe.Pointer) uint64              { return *(*uint64)(e) }
func (c *collation) of(e unsafe.Pointer) uint64              { return *(*uint64)(unsafe.Add(e, 8)) }
func (c *collation) indexOf(e unsafe.Pointer) unsafe.Pointer { return unsafe.Add(e, c.indexAt) }
func (c *collation) keyOf(e unsafe.Pointer) unsafe.Pointer   { return unsafe.Add(e, c.keyAt) }
func (c *collation) edge(e unsafe.Pointer) int8              { return *(*int8)(unsafe.Add(e, c.edgeAt)) }

func (c *collation) compare(a, b unsafe.Pointer) int {
	x, y := c.indexOf(a), c.indexOf(b)
	if n := collate(c.index, &c.indexes[1], c.by(a), c.by(b), x, y); n != 0 {
		return n
	}
	if c.edge(a)|c.edge(b) != 0 {
		return cmp.Compare(c.edge(a), c.edge(b))
	}
	if h := &c.indexes[0]; !h.equal(x, y) { // one of them would be missed
		panic(fmt.Sprintf("mvcc: the order's compare returns 0 for %v and %v, which are not equal",
			h.boxed(x), h.boxed(y)))
	}
	return collate(c.key, &c.keysOfThem[1], c.of(a), c.of(b), c.keyOf(a), c.keyOf(b))
}

// collate compares the keys at x and y by their order, or by their hashes, and by another hash.
func collate(by *order, other *hasher, hashX, hashY uint64, x, y unsafe.Pointer) int {
	switch {
	case by != nil:
		return by.Compare(x, y)
	case hashX != hashY:
		return cmp.Compare(hashX, hashY)
	case other.equal(x, y):
		return 0
	}
	if n := cmp.Compare(other.sum(x), other.sum(y)); n != 0 {
		return n
	}
	// Keys in interfaces are hashed as their values are, whatever their types.
	types := func(key any) []byte { return typesIn(nil, reflect.ValueOf(&key).Elem()) }
	return bytes.Compare(types(other.boxed(x)), types(other.boxed(y)))
}

// typesIn appends the names of the types of what the interfaces in v hold.
func typesIn(names []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return append(names, ';')
		}
		v = v.Elem()
		return typesIn(fmt.Appendf(names, "%s %s;", v.Type().PkgPath(), v.Type()), v)
	case reflect.Struct:
		for i := range v.NumField() {
			names = typesIn(names, v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			names = typesIn(names, v.Index(i))
		}
	}
	return names
}

// bits returns the 64 bits of an entry behind the first skip. They are those of the index key if it
// is a string; else 64 of the index key, or its hash, and 64 of the record's.
func (c *collation) bits(e unsafe.Pointer, skip uint32) uint64 {
	if c.index != nil && c.index.Text() {
		return c.index.Slice(c.indexOf(e), skip)
	}
	high, low := c.both(e)
	if skip >= 64 {
		return low << (skip - 64)
	}
	return high<<skip | low>>(64-skip)
}

// both returns the bits of an entry whose index key is no string.
func (c *collation) both(e unsafe.Pointer) (high, low uint64) {
	if high = c.by(e); c.index != nil {
		high = c.index.Slice(c.indexOf(e), 0)
	}
	switch {
	case c.edge(e) < 0:
		return high, 0
	case c.edge(e) > 0:
		return high, 1<<64 - 1
	case c.key == nil:
		return high, c.of(e)
	}
	return high, c.key.Slice(c.keyOf(e), 0)
}

// common returns how many first bits a and b have in common.
func (c *collation) common(a, b unsafe.Pointer) uint32 {
	if c.index != nil && c.index.Text() {
		return tree.TextCommon(*(*string)(c.indexOf(a)), *(*string)(c.indexOf(b)))
	}
	highA, lowA := c.both(a)
	highB, lowB := c.both(b)
	if highA != highB {
		return uint32(bits.LeadingZeros64(highA ^ highB))
	}
	return 64 + uint32(bits.LeadingZeros64(lowA^lowB))
}
