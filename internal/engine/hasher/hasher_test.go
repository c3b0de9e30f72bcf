package hasher

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func keyAt[K any](key K) unsafe.Pointer { return unsafe.Pointer(&key) }

// agree checks that a hasher tells all keys apart, and hashes each the same way every time. Keys
// are few: two with the same hash would be a fault.
func agree[K comparable](t *testing.T, keys ...K) {
	t.Helper()
	h, other := New[K](), New[K]()
	hashes, differ := map[uint64]K{}, false
	for i, a := range keys {
		sum := h.Sum(keyAt(a))
		require.Equal(t, sum, h.Sum(keyAt(a)), "%v", a)
		require.NotContains(t, hashes, sum, "%v", a)
		hashes[sum] = a
		differ = differ || sum != other.Sum(keyAt(a))
		require.Equal(t, any(a), h.Boxed(keyAt(a)))
		for j, b := range keys {
			require.Equal(t, i == j, h.Equal(keyAt(a), keyAt(b)), "%v, %v", a, b)
		}
	}
	require.True(t, differ, "all hashers hash alike: a caller can choose where keys go")
}

// Keys of every kind are hashed and compared by their values, and by nothing else.
func TestHasher(t *testing.T) {
	type pair struct {
		a string
		b uint8
	}
	one, two := 1, 1
	agree[int](t, 0, 1, -1, math.MaxInt)
	agree[int8](t, 0, 1, -1, math.MaxInt8)
	agree[uint16](t, 0, 1, 2, math.MaxUint16)
	agree[int32](t, 0, 1, -1, math.MaxInt32)
	agree[uint64](t, 0, 1, 1<<32, math.MaxUint64)
	agree(t, "", "a", "b", "ab")
	agree(t, 0.5, 1, -1, math.Inf(1))
	agree(t, pair{"a", 1}, pair{"a", 2}, pair{"b", 1})
	agree(t, &one, &two)
	agree[any](t, 1, "1", int8(1), pair{"1", 1})

	h := New[float64]()
	require.True(t, h.Equal(keyAt(0.0), keyAt(math.Copysign(0, -1))))
	require.Equal(t, h.Sum(keyAt(0.0)), h.Sum(keyAt(math.Copysign(0, -1))))
	require.False(t, h.Equal(keyAt(math.NaN()), keyAt(math.NaN())))

	given := Given(func(key string) uint64 { return uint64(len(key)) })
	require.EqualValues(t, 3, given.Sum(keyAt("abc")))
	require.True(t, given.Equal(keyAt("abc"), keyAt("abc")))
	require.False(t, given.Equal(keyAt("abc"), keyAt("abd")))

	require.Panics(t, func() {
		h := New[any]()
		h.Sum(keyAt[any]([]int{1}))
	}, "a key that cannot be hashed")
}

// A set is a Go map of the keys, also where their hashes are the same.
func TestSet(t *testing.T) {
	for name, h := range map[string]Hasher{
		"any": New[int](),
		"few": Given(func(key int) uint64 { return uint64(key % 3) }),
		"one": Given(func(int) uint64 { return 7 }),
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				var set Set
				model := map[int]bool{}
				for range rapid.IntRange(0, 60).Draw(t, "steps") {
					key := rapid.IntRange(0, 9).Draw(t, "key")
					require.Equal(t, !model[key], set.Add(&h, keyAt(key)), "key %d", key)
					model[key] = true
				}
			})
		})
	}
}
