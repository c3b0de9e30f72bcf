package bench

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func bytesOf(size ValueSize) *values[[]byte] {
	return &values[[]byte]{filler{size: size, sizes: newStream(1)}}
}

// A slice carries its stamp whatever its size, and costs one allocation.
func TestBytesCarryTheirStamps(t *testing.T) {
	for _, size := range []ValueSize{{8, 8}, {9, 9}, {15, 15}, {16, 16}, {100, 100}, {8, 40},
		{1_000, 1_003}} {
		c := bytesOf(size)
		seen := map[int]bool{}
		for i := range uint64(2_000) {
			s := makeStamp(3, 5, i+1)
			b := c.make(s)
			require.GreaterOrEqual(t, len(b), size.Min)
			require.LessOrEqual(t, len(b), size.Max)
			require.Equal(t, s, c.stamp(b))
			require.Empty(t, c.flaw(b))
			seen[len(b)] = true
		}
		require.Len(t, seen, size.Max-size.Min+1, "every size of %v turns up", size)
	}
	c := bytesOf(ValueSize{100, 100})
	require.EqualValues(t, 1, testing.AllocsPerRun(100, func() { c.make(1) }))
	b := c.make(1)
	require.Zero(t, testing.AllocsPerRun(100, func() { c.stamp(b) }))
}

// Any change of a slice is noticed, but for one that makes it another's stamp,
// which the observers know of; here, that is a slice without filling.
func TestDamagedBytesAreNoticed(t *testing.T) {
	for _, n := range []int{9, 16, 21, 100} {
		c := bytesOf(ValueSize{n, n})
		s := makeStamp(3, 5, 9)
		for i := range n {
			b := c.make(s)
			b[i] ^= 0x40
			require.Zero(t, c.stamp(b), "%d bytes, byte %d", n, i)
			require.Contains(t, c.flaw(b), "damaged")
		}
		require.Zero(t, c.stamp(c.make(s)[:n-1]))
		require.Contains(t, c.flaw(c.make(s)[:n-1]), "where all have")
		require.Zero(t, c.stamp(append(c.make(s), 0)))
		require.Zero(t, c.stamp(nil))
	}
	// The length is part of it: cut within the range.
	c := bytesOf(ValueSize{16, 64})
	require.Zero(t, c.stamp(bytesOf(ValueSize{64, 64}).make(5)[:32]))
	// The head of one and the tail of another.
	a, b := bytesOf(ValueSize{64, 64}).make(5), bytesOf(ValueSize{64, 64}).make(6)
	copy(a[32:], b[32:])
	require.Zero(t, c.stamp(a))
}

func TestKeysKeepTheirIndex(t *testing.T) {
	const n = 2_000
	inOrder := makeKeys(n, true)
	require.True(t, slices.IsSorted(inOrder))
	require.Equal(t, 17, keyIndex(inOrder[17]))
	keys := makeKeys(n, false)
	require.Equal(t, "key-17", keys[17])
	seen := map[string]bool{}
	for i, k := range keys {
		require.Equal(t, i, keyIndex(k))
		require.False(t, seen[k])
		seen[k] = true
	}
	require.Equal(t, keys, cloneKeys(keys))
	require.Zero(t, testing.AllocsPerRun(100, func() { require.True(t, keyIndex(keys[n-1]) == n-1) }))
}
