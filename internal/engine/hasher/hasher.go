// Package hasher hashes and compares keys of which it gets only the addresses: so its users are
// compiled once, for all types of keys. Only three functions of one line are compiled for each
// type, see [New].
package hasher

import (
	"hash/maphash"
	"math/bits"
	"reflect"
	"slices"
	"unsafe"
)

// A Hasher hashes keys of one type, and compares them. Every map has its own, with its own
// seeds: a caller that chooses the keys cannot choose where they go.
type Hasher struct {
	Kind  Kind // of the keys
	seeds [2]uint64
	seed  maphash.Seed
	given func(key any) uint64 // for hashGiven
	// The operations on keys that are no integers or strings, see keyType.
	types keyType
}

// A keyType has the code that is compiled for each type of keys. The functions get the address
// of a key, and do not keep it.
type keyType struct {
	hash  func(seed maphash.Seed, key unsafe.Pointer) uint64
	equal func(a, b unsafe.Pointer) bool
	boxed func(key unsafe.Pointer) any
}

func hashKey[K comparable](seed maphash.Seed, key unsafe.Pointer) uint64 {
	return maphash.Comparable(seed, *(*K)(key))
}

func equalKeys[K comparable](a, b unsafe.Pointer) bool { return *(*K)(a) == *(*K)(b) }

func boxedKey[K comparable](key unsafe.Pointer) any { return *(*K)(key) }

// A Kind says how keys are hashed and compared: [maphash.Comparable] takes keys of any type, but
// for integers and strings twice the time needed.
type Kind uint8

// The kinds.
const (
	hashAny Kind = iota
	hashString
	hash8
	hash16
	hash32
	Hash64    // eight bytes of an integer
	hashGiven // by tests
)

// New returns a hasher of keys of type K.
func New[K comparable]() Hasher {
	return hasherOf(TypeOf((*K)(nil)), keyType{hashKey[K], equalKeys[K], boxedKey[K]})
}

// Given returns a hasher that hashes by f: tests choose by f which keys have the same hash.
func Given[K comparable](f func(key K) uint64) Hasher {
	h := New[K]()
	h.Kind, h.given = hashGiven, func(key any) uint64 { return f(key.(K)) }
	return h
}

// TypeOf returns the type that p, a nil pointer, points to. It is for code that is compiled for
// each type: [reflect.TypeFor] brings dozens of functions with it.
//
//go:noinline
func TypeOf(p any) reflect.Type { return reflect.TypeOf(p).Elem() }

func hasherOf(t reflect.Type, types keyType) Hasher {
	h := Hasher{types: types, seed: maphash.MakeSeed()}
	for i := range h.seeds {
		h.seeds[i] = maphash.Comparable(h.seed, i) | 1
	}
	switch t.Kind() {
	case reflect.String:
		h.Kind = hashString
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		h.Kind = hash8 + Kind(bits.TrailingZeros(uint(t.Size())))
	}
	return h
}

// Sum returns the hash of the key at key. It panics with a runtime error for an unhashable key.
func (h *Hasher) Sum(key unsafe.Pointer) uint64 {
	switch h.Kind {
	case Hash64:
		return h.Mix(*(*uint64)(key))
	case hashString:
		return maphash.String(h.seed, *(*string)(key))
	case hash32:
		return h.Mix(uint64(*(*uint32)(key)))
	case hash16:
		return h.Mix(uint64(*(*uint16)(key)))
	case hash8:
		return h.Mix(uint64(*(*uint8)(key)))
	case hashGiven:
		return h.given(h.types.boxed(Unkept(key)))
	}
	return h.types.hash(h.seed, Unkept(key))
}

// Equal reports whether the keys at a and b are equal.
func (h *Hasher) Equal(a, b unsafe.Pointer) bool {
	if h.Kind == Hash64 {
		return *(*uint64)(a) == *(*uint64)(b)
	}
	return h.equalOther(a, b)
}

func (h *Hasher) equalOther(a, b unsafe.Pointer) bool {
	if h.Kind == hashString {
		return *(*string)(a) == *(*string)(b)
	}
	return h.types.equal(Unkept(a), Unkept(b))
}

// Boxed returns the key at key, for messages to people, and for schedules.
func (h *Hasher) Boxed(key unsafe.Pointer) any { return h.types.boxed(Unkept(key)) }

// Unkept returns p, and hides from the compiler that a function of a keyType gets p: the compiler
// would assume that the function keeps p, and so allocate each key that is looked up. (The pointer
// check of -race would be a call between the two lines, which may move the stack that p points to.)
//
//go:nocheckptr
func Unkept(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}

// Mix hashes an integer: two rounds of a multiplication whose halves are folded, each
// with a seed (as in Wang Yi's wyhash).
func (h *Hasher) Mix(x uint64) uint64 {
	hi, lo := bits.Mul64(x^h.seeds[0], 0x9e3779b97f4a7c15)
	hi, lo = bits.Mul64(hi^lo^h.seeds[1], 0xd1b54a32d192ed03)
	return hi ^ lo
}

// A Set is a set of keys, which it knows by their addresses. The keys must stay there.
type Set struct {
	by   map[uint64]unsafe.Pointer // by their hashes
	more []unsafe.Pointer          // keys with the hash of a key in by
}

// Add adds the key at key, and reports whether it was not there.
func (s *Set) Add(h *Hasher, key unsafe.Pointer) bool {
	hash := h.Sum(key)
	first, taken := s.by[hash]
	switch {
	case !taken:
		if s.by == nil {
			s.by = map[uint64]unsafe.Pointer{}
		}
		s.by[hash] = key
		return true
	case h.Equal(first, key) || s.amongMore(h, key):
		return false
	}
	s.more = append(s.more, key)
	return true
}

func (s *Set) amongMore(h *Hasher, key unsafe.Pointer) bool {
	return slices.ContainsFunc(s.more, func(o unsafe.Pointer) bool { return h.Equal(o, key) })
}
