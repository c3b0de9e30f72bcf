package gc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is in a ring when it is dropped comes out all the same.
func TestDroppedRingIsEmptied(t *testing.T) {
	const n = smallRing + largeRing + 100
	q := newQueue(0)
	for i := range n {
		q.put(i)
	}
	require.Equal(t, 3, q.ringCount())
	q.drop(0)
	require.Zero(t, q.ringCount())
	require.Equal(t, n, q.size())
	require.Len(t, q.drain(nil), n)
	require.True(t, q.idle())
}
