package gc_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/gc"
)

// A version that several epochs need is set aside once. It moves on from the newest
// of them to the next one that is still live; that older ones end is no reason to
// visit it.
func TestVersionNeededByMany(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}, {0, 2, 1}, {2, 0, 1}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, gc.Config[*key, uint64]{Workers: 1})
				k := &key{}
				f.commit(k)
				readers := make([]reader, 3)
				live := make(map[int]bool)
				for i := range readers {
					readers[i] = f.begin()
					f.slots.Next() // a commit of another key
					live[i] = true
				}
				f.write(k)
				f.ticks(1)
				visits := 1
				at := 2
				for n, i := range order {
					require.Len(t, k.chain(), 2)
					require.Equal(t, 1, f.Stats().Aside)
					readers[i].end()
					delete(live, i)
					if i == at {
						visits++
						for ; !live[at] && at > 0; at-- {
						}
					}
					f.ticks(2)
					require.Equal(t, visits, k.pruned(), "after %d of %v", n+1, order)
				}
				require.Len(t, k.chain(), 1)
				require.Zero(t, f.Stats().Aside)
			})
		})
	}
}

// A key of which nothing is left but a tombstone is buried when everybody has ended
// who reads below it. It waits for one epoch at a time, the newest.
func TestTombstoneWaits(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}, {0, 2, 1}, {2, 0, 1}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, gc.Config[*key, uint64]{Workers: 1})
				k := &key{}
				readers := make([]reader, 3)
				for i := range readers {
					readers[i] = f.begin()
					f.slots.Next()
				}
				f.commit(k)
				k.deleted = true
				f.write(k)
				f.ticks(1)
				require.Len(t, k.chain(), 1)
				require.Equal(t, 1, f.Stats().Aside)

				// Deleted once more, it still waits once.
				f.write(k)
				f.ticks(1)
				require.Equal(t, 1, f.Stats().Aside)
				for n, i := range order {
					require.False(t, k.buried, "after %d of %v", n, order)
					readers[i].end()
					f.ticks(2)
				}
				require.True(t, k.buried)
				require.Zero(t, f.Stats().Aside)
				require.True(t, k.mark.Idle())
			})
		})
	}
}

// Keys that wait for an epoch are not looked at while others come and go: the work
// of a tick does not grow with what was ever overwritten.
func TestTicksLeaveWhatWaitsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, gc.Config[*key, uint64]{Workers: 2, Queue: 1024})
		keys := make([]*key, 500)
		for i := range keys {
			keys[i] = &key{}
			f.commit(keys[i])
		}
		long := f.begin()
		for _, k := range keys {
			f.write(k)
		}
		f.ticks(1)
		require.Equal(t, len(keys), f.Stats().Aside)
		hot := &key{}
		f.commit(hot)
		for range 50 {
			r := f.begin()
			f.write(hot)
			f.ticks(1)
			r.end()
		}
		f.ticks(1)
		for _, k := range keys {
			require.Equal(t, 1, k.pruned())
		}
		require.Len(t, hot.chain(), 1)
		long.end()
		f.ticks(1)
		for _, k := range keys {
			require.Equal(t, 2, k.pruned())
			require.Len(t, k.chain(), 1)
		}
		require.Zero(t, f.Stats().Aside)
		f.ticks(2)
		require.True(t, f.Parked())
	})
}

// A pass visits so much of what is due that the queue does not have to wait for all
// of it, and the rest follows without waiting for a tick.
func TestMuchIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 20_000
		f := start(t, gc.Config[*key, uint64]{Workers: 1, Queue: 64})
		k := &key{}
		f.commit(k)
		long := f.begin()
		// One key, set aside very often: each time with another version.
		for range n {
			f.commit(k)
			f.Prune(k)
			k.mu.Lock()
			clear(k.waiting) // forget that it waits
			k.mu.Unlock()
		}
		require.Equal(t, n, f.Stats().Aside)
		made := f.refreshes()
		long.end()
		f.ticks(1)
		require.Zero(t, f.Stats().Aside)
		require.Greater(t, f.refreshes(), made+1, "one pass visited everything")
	})
}
