package mvcc

import (
	"hash/maphash"
	"math/bits"
	"reflect"
	"unsafe"
)

// A hasher hashes keys of type K. Every map has its own, with its own seeds: a
// caller that chooses the keys cannot choose where they go.
type hasher[K comparable] struct {
	kind  hashKind
	seeds [2]uint64
	seed  maphash.Seed
	given func(K) uint64 // for hashGiven
}

// A hashKind says how keys are hashed: [maphash.Comparable] takes any, and twice as
// long as needed for integers and strings.
type hashKind uint8

const (
	hashAny hashKind = iota
	hashString
	hash8
	hash16
	hash32
	hash64
	hashGiven // by tests
)

func newHasher[K comparable]() (h hasher[K]) {
	h.seed = maphash.MakeSeed()
	for i := range h.seeds {
		h.seeds[i] = maphash.Comparable(h.seed, i) | 1
	}
	switch t := reflect.TypeFor[K](); t.Kind() {
	case reflect.String:
		h.kind = hashString
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		h.kind = hash8 + hashKind(bits.TrailingZeros(uint(t.Size())))
	}
	return h
}

// sum returns the hash of key. It panics with a runtime error if key cannot be hashed.
func (h *hasher[K]) sum(key K) uint64 {
	switch h.kind {
	case hash64:
		return h.mix(*(*uint64)(unsafe.Pointer(&key)))
	case hashString:
		return maphash.String(h.seed, *(*string)(unsafe.Pointer(&key)))
	case hash32:
		return h.mix(uint64(*(*uint32)(unsafe.Pointer(&key))))
	case hash16:
		return h.mix(uint64(*(*uint16)(unsafe.Pointer(&key))))
	case hash8:
		return h.mix(uint64(*(*uint8)(unsafe.Pointer(&key))))
	case hashGiven:
		return h.given(key)
	}
	return maphash.Comparable(h.seed, key)
}

// mix hashes an integer: two rounds of a multiplication whose halves are folded, each
// with a seed (as in Wang Yi's wyhash).
func (h *hasher[K]) mix(x uint64) uint64 {
	hi, lo := bits.Mul64(x^h.seeds[0], 0x9e3779b97f4a7c15)
	hi, lo = bits.Mul64(hi^lo^h.seeds[1], 0xd1b54a32d192ed03)
	return hi ^ lo
}
