package tree

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"reflect"
	"unsafe"
)

// An Order is the order of keys of one type. All its functions get the addresses of keys, and do
// not keep them.
type Order struct {
	kind kind
	size uint8  // of an integer or float, in bytes
	flip uint64 // makes a signed integer one that is ordered without a sign
	// compare compares two keys, for kinds that are not exact.
	compare func(a, b unsafe.Pointer) int
	// bits returns the 64 bits of a key behind the first skip, and common how many first bits two
	// keys have in common, for kindBits.
	bits   func(key unsafe.Pointer, skip uint32) uint64
	common func(a, b unsafe.Pointer) uint32
}

type kind uint8

const (
	kindNone  kind = iota // order by compare alone
	kind64                // the slice is the key, an integer of 8 bytes
	kindExact             // the slice is the key, of another type
	kindText              // the slice is 64 bits of a string
	kindBits              // the slice is 64 bits of the result of Bits
)

func (o *Order) exact() bool { return o.kind == kind64 || o.kind == kindExact }

// NaturalOrder returns the order of Go's operators for keys of type t, which is a type that
// cmp.Ordered allows. A NaN comes first.
func NaturalOrder(t reflect.Type) Order {
	o := Order{kind: kindExact, size: uint8(t.Size())}
	switch t.Kind() {
	case reflect.String:
		return Order{kind: kindText, compare: func(a, b unsafe.Pointer) int {
			return cmp.Compare(*(*string)(a), *(*string)(b))
		}}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		o.flip = 1 << (8*t.Size() - 1)
		fallthrough
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if t.Size() == 8 {
			o.kind = kind64
		}
	case reflect.Float32, reflect.Float64:
		o.size |= floating
	default:
		panic("tree: keys of type " + t.String() + " have no natural order")
	}
	return o
}

const floating = 1 << 7

// OrderBy returns the order of compare, which returns a negative number if a comes before b, a
// positive one if a comes after b, and 0 if they are the same.
func OrderBy(compare func(a, b unsafe.Pointer) int) Order { return Order{compare: compare} }

// OrderOfBits is [OrderBy] for keys that have bits: bits returns the 64 behind the first skip, and
// zeros behind the last; common returns how many first bits a and b have in common. A key that
// comes before another one has no higher bits.
func OrderOfBits(compare func(a, b unsafe.Pointer) int,
	bits func(key unsafe.Pointer, skip uint32) uint64, common func(a, b unsafe.Pointer) uint32) Order {
	return Order{kind: kindBits, compare: compare, bits: bits, common: common}
}

// Compare compares the keys at a and b.
func (o *Order) Compare(a, b unsafe.Pointer) int {
	if o.exact() {
		return cmp.Compare(o.slice(a, 0), o.slice(b, 0))
	}
	return o.callCompare(a, b)
}

// callCompare calls compare.
func (o *Order) callCompare(a, b unsafe.Pointer) int { return o.compare(unkept(a), unkept(b)) }

// unkept returns p, and hides from the compiler that a function gets p: the compiler would assume
// that the function keeps p, and so allocate each key that is looked up. (The pointer check of
// -race would be a call between the two lines, which may move the stack that p points to.)
//
//go:nocheckptr
func unkept(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}

// Slice returns the 64 bits of the key at key behind the first skip, which is 0 for an integer or a
// float; 0 if keys have none.
func (o *Order) Slice(key unsafe.Pointer, skip uint32) uint64 { return o.slice(key, skip) }

// Exact reports whether two keys have equal slices if, and only if, they are the same.
func (o *Order) Exact() bool { return o.exact() }

// Text reports whether keys are strings in the order of Go's operators.
func (o *Order) Text() bool { return o.kind == kindText }

func (o *Order) slice(key unsafe.Pointer, skip uint32) uint64 {
	switch o.kind {
	case kind64:
		return *(*uint64)(key) ^ o.flip
	case kindText:
		return TextBits(*(*string)(key), skip)
	}
	return o.sliceOther(key, skip)
}

func (o *Order) sliceOther(key unsafe.Pointer, skip uint32) uint64 {
	switch {
	case o.kind == kindBits:
		return o.bits(unkept(key), skip)
	case o.kind == kindNone:
		return 0
	}
	switch o.size {
	case 1:
		return uint64(*(*uint8)(key)) ^ o.flip
	case 2:
		return uint64(*(*uint16)(key)) ^ o.flip
	case 4:
		return uint64(*(*uint32)(key)) ^ o.flip
	case floating | 4:
		return ofFloat(float64(*(*float32)(key)))
	case floating | 8:
		return ofFloat(*(*float64)(key))
	}
	return *(*uint64)(key) ^ o.flip
}

// ofFloat returns an integer that is ordered as f is: the same for both zeros.
func ofFloat(f float64) uint64 {
	switch b := math.Float64bits(f); {
	case f != f:
		return 0
	case f == 0:
		return 1 << 63
	case b>>63 != 0:
		return ^b
	default:
		return b | 1<<63
	}
}

// TextBits returns the 64 bits of s behind the first skip, as if zeros followed it.
func TextBits(s string, skip uint32) uint64 {
	i, shift := skip>>3, skip&7
	if uint(len(s)) > uint(i)+8 {
		b := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.StringData(s)), i)), 9)
		return binary.BigEndian.Uint64(b)<<shift | uint64(b[8])>>(8-shift)
	}
	var x uint64
	for j := int(i); j < len(s); j++ {
		x |= uint64(s[j]) << (56 - 8*uint(j-int(i)))
	}
	return x << shift
}

// TextCommon returns how many first bits a and b have in common: at most as many as the shorter
// has.
func TextCommon(a, b string) uint32 {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return uint32(8*i + bits.LeadingZeros8(a[i]^b[i]))
		}
	}
	return uint32(8 * n)
}

// commonOf returns how many first bits all keys from a to b have in common; 0 for an order without
// bits.
func (o *Order) commonOf(a, b separator) uint32 {
	switch {
	case a.inf || b.inf:
		return 0
	case o.kind == kindText:
		return TextCommon(*(*string)(a.key), *(*string)(b.key))
	case o.kind == kindBits:
		return o.common(a.key, b.key)
	}
	return 0
}
