package index

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// requireKeys checks that the keys below n are found.
func requireKeys(t *testing.T, x *Index, n int) {
	t.Helper()
	for key := range n {
		_, head := findIn(x, hashIn(x, key), key)
		require.NotNil(t, head)
	}
}

// A bucket that was locked when its turn came, both times, moves with the next look after
// the index; and somebody is told to look.
func TestSkippedBucketMoves(t *testing.T) {
	x := newTestIndex(nil)
	woken := 0
	x.Spawn, x.Wake = func(f func()) bool { f(); return true }, func() { woken++ }
	for _, n := range []int{1 << 10, 1 << 11} { // then to 2^11, and back
		x.table.Store(newHashTable(n))
		for i := range 100 {
			x.put(chain.New(i, 0))
		}
		old := x.table.Load()
		b := &old.buckets[n-1]
		b.meta.Or(bucketLocked)
		woken = 0
		x.resize(old, 3<<10-n)
		require.Same(t, old, x.table.Load())
		require.Equal(t, 1, woken)
		require.True(t, x.Tend(), "the bucket is still locked")
		b.meta.And(^uint64(bucketLocked))
		x.Tend()
		require.NotSame(t, old, x.table.Load())
		requireKeys(t, x, 100)
	}
}

// A table so large that a bucket's number times their number has more than 32 bits shrinks.
func TestLargeTableShrinks(t *testing.T) {
	x := newTestIndex(nil)
	x.table.Store(newHashTable(1 << 17))
	for i := range 1000 {
		x.put(chain.New(i, 0))
	}
	for x.Tend() {
	}
	require.LessOrEqual(t, len(x.table.Load().buckets), 1<<10)
	requireKeys(t, x, 1000)
}

// Keys that come and go at a constant number leave no overflows behind for good.
func TestOverflowsGo(t *testing.T) {
	x := For[int, int](0)
	const n = 2000 // of the 2304 that 512 buckets hold
	var versions []*chain.Node
	for key := range 100 * n {
		v := chain.New(key, 0)
		x.put(v)
		if versions = append(versions, v); len(versions) > n {
			require.True(t, x.Remove(Place{}, versions[0]))
			versions = versions[1:]
		}
		if key%n == 0 {
			for x.Tend() {
			}
		}
	}
	for x.Tend() {
	}
	table, overflows := x.table.Load(), 0
	for i := range table.buckets {
		overflows += table.buckets[i].length() - 1
	}
	require.Len(t, table.buckets, 512)
	require.LessOrEqual(t, overflows, 512)
	bucketSize, overflowSize := unsafe.Sizeof(table.buckets[0]), unsafe.Sizeof(overflow{})
	require.Equal(t, uint64(512*bucketSize+uintptr(overflows)*overflowSize), x.Bytes())
}

// A table that is not large is announced at once, though the background takes its time.
func TestTableIsAnnouncedAtOnce(t *testing.T) {
	x := For[int, int](0)
	var all []func()
	x.Spawn = func(f func()) bool { all = append(all, f); return true }
	i := 0
	for ; len(all) == 0; i++ {
		x.put(chain.New(i, 0))
	}
	old := x.table.Load()
	require.NotNil(t, old.next.Load())
	for ; len(all) == 1; i++ { // those that insert move all of it
		x.put(chain.New(i, 0))
	}
	require.NotSame(t, old, x.table.Load())
	all[0]() // comes too late
	require.True(t, old.next.Load() == nil)
	requireKeys(t, x, i)
}
