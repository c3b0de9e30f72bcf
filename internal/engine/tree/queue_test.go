package tree

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Keys that come at one end and go at the other leave nothing behind.
func TestQueue(t *testing.T) {
	n := 60_000
	if testing.Short() {
		n = 15_000
	}
	for name, number := range map[string]func(i int) int{
		"up":   func(i int) int { return i },
		"down": func(i int) int { return n - 1 - i },
	} {
		t.Run(name, func(t *testing.T) {
			const long = 1000
			w := newWorld(someInts)
			queue := make([]*Head, n)
			for k := range queue {
				i := number(k)
				queue[i] = w.newItem(i, 0).asHead()
				w.tr.Insert(queue[i], Gate{})
				if k >= long {
					i = number(k - long)
					require.True(t, w.remove(Place{}, queue[i]))
					queue[i] = nil
				}
			}
			require.Less(t, w.tr.leaves.Load(), int64(long/10))
			require.Less(t, w.tr.inners.Load(), int64(6))
			w.empty(t, queue)
		})
	}
}
