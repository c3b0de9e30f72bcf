package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func bytesOf(size ValueSize) *values[[]byte] {
	return &values[[]byte]{filler{size: size, sizes: newStream(1)}}
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
