package gc

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func numberOf(i Item) int { return *(*int)(i.Thing) }

func newQueue(capacity int) *queue {
	q := new(queue)
	q.init(capacity)
	return q
}

// Everything comes out once, wherever it was.
func TestQueue(t *testing.T) {
	for _, n := range []int{0, 1, 2, smallRing, smallRing + 1, 1000, 5000, 10_000} {
		q := newQueue(5000)
		for i := range n {
			q.put(itemOf(i))
		}
		require.Equal(t, n, q.size())
		var got []Item
		for range n / 2 {
			item, ok := q.take()
			require.True(t, ok)
			got = append(got, item)
		}
		got = append(got, q.unspill()...)
		q.put(itemOf(n))
		require.False(t, q.idle())
		got = q.drain(got)
		require.True(t, q.idle())
		require.Zero(t, q.size())
		slices.SortFunc(got, func(a, b Item) int { return numberOf(a) - numberOf(b) })
		require.Len(t, got, n+1)
		for i := range got {
			require.Equal(t, i, numberOf(got[i]))
		}
		_, ok := q.take()
		require.False(t, ok)
		require.Empty(t, q.unspill())
	}
}

// Items that are put in while rings are dropped are not lost.
func TestDropAgainstPut(t *testing.T) {
	q := newQueue(0)
	n := 50_000
	if testing.Short() {
		n = 5000
	}
	const putters = 3
	var wg sync.WaitGroup
	var done atomic.Bool
	seen := make([]atomic.Int32, putters*n)
	var drained sync.WaitGroup
	drained.Go(func() {
		last := false
		for !last {
			last = done.Load()
			for _, item := range q.drain(nil) {
				seen[numberOf(item)].Add(1)
			}
			q.drop(0)
			runtime.Gosched()
		}
		for _, item := range q.drain(nil) {
			seen[numberOf(item)].Add(1)
		}
	})
	for p := range putters {
		wg.Go(func() {
			for i := range n {
				q.put(itemOf(p*n + i))
				if item, ok := q.take(); ok && i%2 == 0 {
					seen[numberOf(item)].Add(1)
				} else if ok {
					q.spill([]Item{item})
				}
			}
		})
	}
	wg.Wait()
	done.Store(true)
	drained.Wait()
	for i := range seen {
		require.EqualValues(t, 1, seen[i].Load(), "item %d", i)
	}
	require.True(t, q.idle())
}
