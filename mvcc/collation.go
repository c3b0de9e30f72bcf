package mvcc

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"sync"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/engine/hasher"
	"github.com/mvccmap/mvccmap/internal/engine/tree"
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

// A collation is the order of entries. Keys without an order of their own are ordered by a hash,
// and keys of the same hash by another hash: two of 10^9 keys share both hashes once in 10^20
// times. A collation gets entries by their addresses, and knows the offsets of their fields, so its
// code is compiled once for all types of indexes.
//
// A page of records of one index key goes on behind a record, perhaps in another process. So their
// keys have the same order in each process: that of the table, or else of Go's operators, or of
// [stableHash]. (Two keys of the same stable hash may change places in another process.)
type collation struct {
	index, key             *order // of the index keys, and of the keys of the records, or nil
	indexes                [2]hasher.Hasher
	stable                 stableHash    // of the keys of the records, if they have no order
	others                 hasher.Hasher // of these keys too
	indexAt, keyAt, edgeAt uintptr       // by and of come first
}

// newCollation returns the order of entries of an index.
func newCollation[I, K comparable](index, key *order) *collation {
	var e entry[I, K]
	c := &collation{index: index, indexes: [2]hasher.Hasher{hasher.New[I](), hasher.New[I]()},
		others: hasher.New[K](), indexAt: unsafe.Offsetof(e.index), keyAt: unsafe.Offsetof(e.key),
		edgeAt: unsafe.Offsetof(e.edge)}
	c.setKey(hasher.TypeOf((*K)(nil)), key)
	return c
}

// setKey says how the keys of the records, of type t, are ordered.
func (c *collation) setKey(t reflect.Type, key *order) {
	switch k := t.Kind(); {
	case key != nil:
		c.key = key
	case reflect.Int <= k && k <= reflect.Float64 || k == reflect.String: // ordered by Go itself
		c.key = naturalOrder(t)
	default:
		step := stepOf(t)
		c.stable = func(key unsafe.Pointer) uint64 { return step(0, hasher.Unkept(key)) }
	}
}

// order returns the collation as the order of a table. Unless the program orders the index keys,
// the tree compares bits of the entries: so it tells nearly all apart without loading a version.
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

// edgeOf returns an entry before all entries of the index key (side -1), or after them (1).
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
	return c.indexes[0].Sum(index)
}

//go:noinline
func (c *collation) hashKey(key unsafe.Pointer) uint64 {
	if c.key != nil {
		return 0
	}
	return c.stable(key)
}

// compareKeys compares the keys of two records.
func (c *collation) compareKeys(x, y unsafe.Pointer) int {
	return collate(c.key, &c.others, c.hashKey(x), c.hashKey(y), x, y)
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
	if h := &c.indexes[0]; !h.Equal(x, y) { // one of them would be missed
		panic(fmt.Sprintf("mvcc: the order's compare returns 0 for %v and %v, which are not equal",
			h.Boxed(x), h.Boxed(y)))
	}
	return collate(c.key, &c.others, c.of(a), c.of(b), c.keyOf(a), c.keyOf(b))
}

// collate compares the keys at x and y by their order, or else by two hashes.
func collate(by *order, other *hasher.Hasher, hashX, hashY uint64, x, y unsafe.Pointer) int {
	switch {
	case by != nil:
		return by.Compare(x, y)
	case hashX != hashY:
		return cmp.Compare(hashX, hashY)
	case other.Equal(x, y):
		return 0
	}
	if n := cmp.Compare(other.Sum(x), other.Sum(y)); n != 0 {
		return n
	}
	// A key in an interface is hashed as its value, so keys of two types may share both hashes.
	types := func(key any) []byte { return typesIn(nil, reflect.ValueOf(&key).Elem()) }
	return bytes.Compare(types(other.Boxed(x)), types(other.Boxed(y)))
}

// typesIn appends, for each interface in v, the name and the address of the type of its value: two
// functions may each have a type of the same name. (Another process may order such types
// otherwise.)
func typesIn(names []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return append(names, ';')
		}
		v = v.Elem()
		t := v.Type()
		return typesIn(fmt.Appendf(names, "%s %s %x;", t.PkgPath(), t, reflect.ValueOf(t).Pointer()), v)
	case reflect.Struct:
		for _, field := range v.Fields() {
			names = typesIn(names, field)
		}
	case reflect.Array:
		for i := range v.Len() {
			names = typesIn(names, v.Index(i))
		}
	}
	return names
}

// bits returns 64 bits of an entry, after the first skip bits. An entry has the bits of the index
// key if that is a string. Otherwise it has 64 bits of the index key or of its hash, and then the
// bits of the record's key.
func (c *collation) bits(e unsafe.Pointer, skip uint32) uint64 {
	switch {
	case c.index != nil && c.index.Text():
		return c.index.Slice(c.indexOf(e), skip)
	case skip >= 64:
		return c.low(e, skip-64)
	}
	return c.high(e)<<skip | c.low(e, 0)>>(64-skip)
}

// high returns the bits of an index key that is no string.
func (c *collation) high(e unsafe.Pointer) uint64 {
	if c.index != nil {
		return c.index.Slice(c.indexOf(e), 0)
	}
	return c.by(e)
}

// low returns 64 bits of the key of a record, after the first skip bits.
func (c *collation) low(e unsafe.Pointer, skip uint32) uint64 {
	switch {
	case c.edge(e) < 0:
		return 0
	case c.edge(e) > 0:
		return 1<<64 - 1
	case c.key == nil:
		return c.of(e) << skip
	case c.key.Text():
		return c.key.Slice(c.keyOf(e), skip)
	}
	return c.key.Slice(c.keyOf(e), 0) << skip
}

// common returns how many first bits a and b have in common.
func (c *collation) common(a, b unsafe.Pointer) uint32 {
	if c.index != nil && c.index.Text() {
		return tree.TextCommon(*(*string)(c.indexOf(a)), *(*string)(c.indexOf(b)))
	}
	if x, y := c.high(a), c.high(b); x != y {
		return uint32(bits.LeadingZeros64(x ^ y))
	}
	if c.key != nil && c.key.Text() && c.edge(a)|c.edge(b) == 0 {
		return 64 + tree.TextCommon(*(*string)(c.keyOf(a)), *(*string)(c.keyOf(b)))
	}
	return 64 + uint32(bits.LeadingZeros64(c.low(a, 0)^c.low(b, 0)))
}

// A stableHash hashes keys of one type, given by their addresses, in the same way in every process:
// equal keys have the same hash. A pointer or channel in a key is hashed by its address, which
// differs in another process; but such a key cannot be sent there. The hash is no secret: a caller
// that chooses the keys can make equal hashes, with which users of a stableHash must cope.
type stableHash func(key unsafe.Pointer) uint64

// A stableStep adds the value at an address to a hash.
type stableStep func(h uint64, at unsafe.Pointer) uint64

// stepOf returns the step for values of type t.
func stepOf(t reflect.Type) stableStep {
	switch t.Kind() {
	case reflect.Bool, reflect.Uint8:
		return stepFor(func(x uint8) uint64 { return uint64(x) })
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return signedSteps[t.Size()]
	case reflect.Uint16:
		return stepFor(func(x uint16) uint64 { return uint64(x) })
	case reflect.Uint32:
		return stepFor(func(x uint32) uint64 { return uint64(x) })
	case reflect.Uint64:
		return stepFor(func(x uint64) uint64 { return x })
	case reflect.Uint, reflect.Uintptr, reflect.Pointer, reflect.Chan, reflect.UnsafePointer:
		return stepFor(func(x uint) uint64 { return uint64(x) })
	case reflect.Float32:
		return stepFor(func(x float32) uint64 { return floatBits(float64(x)) })
	case reflect.Float64:
		return stepFor(floatBits)
	case reflect.Complex64:
		return stepFor(func(x complex64) uint64 { return complexBits(complex128(x)) })
	case reflect.Complex128:
		return stepFor(complexBits)
	case reflect.String:
		return func(h uint64, at unsafe.Pointer) uint64 { return addText(h, *(*string)(at)) }
	case reflect.Interface:
		return func(h uint64, at unsafe.Pointer) uint64 { return addHeld(h, reflect.NewAt(t, at).Elem()) }
	case reflect.Array:
		each, size := stepOf(t.Elem()), t.Elem().Size()
		return func(h uint64, at unsafe.Pointer) uint64 {
			for i := range t.Len() {
				h = each(h, unsafe.Add(at, uintptr(i)*size))
			}
			return h
		}
	case reflect.Struct:
		type field struct {
			add stableStep
			at  uintptr
		}
		var fields []field
		for f := range t.Fields() {
			if f.Name != "_" { // which == passes over
				fields = append(fields, field{stepOf(f.Type), f.Offset})
			}
		}
		return func(h uint64, at unsafe.Pointer) uint64 {
			for _, f := range fields {
				h = f.add(h, unsafe.Add(at, f.at))
			}
			return h
		}
	}
	// A slice, map or function in an interface: no table has such a key.
	return func(uint64, unsafe.Pointer) uint64 {
		panic(fmt.Sprintf("mvcc: a key has a %v, which cannot be hashed", t))
	}
}

// stepFor returns the step for values that bits turns into a number.
func stepFor[T any](bits func(x T) uint64) stableStep {
	return func(h uint64, at unsafe.Pointer) uint64 { return stir(h, bits(*(*T)(at))) }
}

// signedSteps are the steps for signed integers, by size: an int is hashed alike whatever its size.
var signedSteps = [9]stableStep{
	1: stepFor(func(x int8) uint64 { return uint64(x) }),
	2: stepFor(func(x int16) uint64 { return uint64(x) }),
	4: stepFor(func(x int32) uint64 { return uint64(x) }),
	8: stepFor(func(x int64) uint64 { return uint64(x) }),
}

// floatBits returns the bits of x, the same for both zeros.
func floatBits(x float64) uint64 {
	if x == 0 {
		return 0
	}
	return math.Float64bits(x)
}

func complexBits(x complex128) uint64 { return stir(floatBits(real(x)), floatBits(imag(x))) }

// addHeld adds the type and the value that an interface holds.
func addHeld(h uint64, held reflect.Value) uint64 {
	if held.IsNil() {
		return stir(h, 0)
	}
	held = held.Elem()
	t := held.Type()
	step, known := heldSteps.Load(t)
	if !known {
		step, _ = heldSteps.LoadOrStore(t, stepOf(t))
	}
	value := reflect.New(t) // one with an address
	value.Elem().Set(held)
	return step.(stableStep)(addText(addText(h, t.PkgPath()), t.String()), value.UnsafePointer())
}

// heldSteps has the steps for types that interfaces have held.
var heldSteps sync.Map

// addText adds a string, and how long it is.
func addText(h uint64, s string) uint64 {
	h = stir(h, uint64(len(s)))
	for ; len(s) >= 8; s = s[8:] {
		h = stir(h, uint64(s[0])|uint64(s[1])<<8|uint64(s[2])<<16|uint64(s[3])<<24|
			uint64(s[4])<<32|uint64(s[5])<<40|uint64(s[6])<<48|uint64(s[7])<<56)
	}
	var rest uint64
	for i := range len(s) {
		rest |= uint64(s[i]) << (8 * i)
	}
	return stir(h, rest)
}

// stir adds x to a hash, see [hasher.Hasher.Mix].
func stir(h, x uint64) uint64 {
	hi, lo := bits.Mul64(h^x^0xa0761d6478bd642f, 0x9e3779b97f4a7c15)
	hi, lo = bits.Mul64(hi^lo^0xe7037ed1a0b428db, 0xd1b54a32d192ed03)
	return hi ^ lo
}
