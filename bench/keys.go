package bench

import (
	"fmt"
	"strconv"
)

// A KeyType says what the keys of a map are.
type KeyType string

// The types of keys: strings such as "key-17", 64-bit numbers that are spread
// over their whole range, and values of [StructKey].
const (
	StringKeys KeyType = "string"
	Uint64Keys KeyType = "uint64"
	StructKeys KeyType = "struct"
)

const keyTypesInWords = "string, uint64 or struct"

// KeyTypes returns all types of keys, the default first.
func KeyTypes() []KeyType { return []KeyType{StringKeys, Uint64Keys, StructKeys} }

// StructKey is the key of maps whose keys are structs: 16 bytes without pointers.
type StructKey struct {
	Tenant, Shard uint32
	ID            uint64
}

// keyPrefix is followed by the index of the key.
const keyPrefix = "key-"

// keySpread times the index is a number key. It is odd, so that each index has a
// number of its own, and keyGather, its inverse modulo 2^64, leads back.
const (
	keySpread uint64 = 0x9e3779b97f4a7c15
	keyGather uint64 = 0xf1de83e19937733d
)

func stringKey(i int) string    { return keyPrefix + strconv.Itoa(i) }
func uint64Key(i int) uint64    { return uint64(i) * keySpread }
func structKey(i int) StructKey { return StructKey{uint32(i % 7), uint32(i % 64), uint64(i)} }

// makeKeys returns n keys of one of the key types. Ordered ones are strings that sort as their
// indexes do.
func makeKeys[K comparable](n int, ordered bool) []K {
	keys := make([]K, n)
	switch keys := any(keys).(type) {
	case []string:
		for i := range keys {
			if keys[i] = stringKey(i); ordered {
				keys[i] = fmt.Sprintf("%s%09d", keyPrefix, i)
			}
		}
	case []uint64:
		for i := range keys {
			keys[i] = uint64Key(i)
		}
	case []StructKey:
		for i := range keys {
			keys[i] = structKey(i)
		}
	}
	return keys
}

// keyIndex returns the index that key was made from. It allocates nothing.
func keyIndex[K comparable](key K) int {
	switch k := any(&key).(type) {
	case *string:
		n := 0
		for i := len(keyPrefix); i < len(*k); i++ {
			n = 10*n + int((*k)[i]-'0')
		}
		return n
	case *uint64:
		return int(*k * keyGather)
	case *StructKey:
		return int(k.ID)
	}
	return 0
}

// keyName names a key in messages.
func keyName[K comparable](key K) string {
	if s, ok := any(key).(string); ok {
		return s
	}
	return fmt.Sprintf("%+v", key)
}
