package mvcc

import (
	"math"
	"math/bits"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// fits reports whether the index has no resize before it, and is of a size for its keys.
func (x *index) fits() bool {
	t := x.table.Load()
	return !t.resizing.Load() && x.wanted(t) == 0
}

// requireKeys checks that the keys below n are found.
func requireKeys(t *testing.T, x *index, n int) {
	t.Helper()
	for key := range n {
		_, head := findIn(x, hashIn(x, key), key)
		require.NotNil(t, head)
	}
}

// However fast keys come, the index is large enough in the end.
func TestIndexGrowsToFit(t *testing.T) {
	n := sizes(400_000, 40_000)
	m := newMap[int, int](t, nil)
	c := newCrew(t)
	const writers = 64
	c.run(writers, func(w int) error {
		for i := w; i < n; i += writers {
			m.Store(i, i)
		}
		return nil
	})
	c.wait(t)
	eventually(t, m.index.fits, "the index is too small for its keys")
	require.Len(t, contents(t, m), n)
}

// When most keys are gone the index shrinks, even if nothing happens any more.
func TestIndexShrinksAtRest(t *testing.T) {
	n := sizes(200_000, 20_000)
	for _, manual := range []bool{false, true} {
		m := newMap[int, int](t, &Options{ManualReclaim: manual, ReclaimQueue: n})
		for i := range n {
			m.Store(i, i)
		}
		for i := range n {
			m.Delete(i)
		}
		if manual {
			require.NoError(t, m.Reclaim(bg))
		}
		small := func() bool { return len(m.index.table.Load().buckets) == minBuckets && m.index.fits() }
		eventually(t, small, "the index stays large")
	}
}

// Who still looks at a table that has been replaced, in a scan that takes long, does not
// keep those that came after it.
func TestOldTableKeepsNothing(t *testing.T) {
	m := newMap[int, int](t, &Options{ManualReclaim: true})
	old := m.index.table.Load()
	s := m.Snapshot()
	defer s.Close()
	for range 3 {
		for i := range 10_000 {
			m.Store(i, i)
		}
		require.NoError(t, m.Reclaim(bg))
		require.Nil(t, old.next.Load())
		old = m.index.table.Load()
		for i := range 10_000 {
			m.Delete(i)
		}
		require.NoError(t, m.Reclaim(bg))
		require.Nil(t, old.next.Load())
	}
}

// A bucket that was locked when its turn came, both times, moves with the next look after
// the index; and somebody is told to look.
func TestSkippedBucketMoves(t *testing.T) {
	x := newTestIndex(nil)
	woken := 0
	x.spawn, x.wake = func(f func()) bool { f(); return true }, func() { woken++ }
	for _, n := range []int{1 << 10, 1 << 11} { // then to 2^11, and back
		x.table.Store(newHashTable(n))
		for i := range 100 {
			x.put(newNode(i, 0))
		}
		old := x.table.Load()
		b := &old.buckets[n-1]
		b.meta.Or(bucketLocked)
		woken = 0
		x.resize(old, 3<<10-n)
		require.Same(t, old, x.table.Load())
		require.Equal(t, 1, woken)
		require.True(t, x.tend(), "the bucket is still locked")
		b.meta.And(^uint64(bucketLocked))
		x.tend()
		require.NotSame(t, old, x.table.Load())
		requireKeys(t, x, 100)
	}
}

// A table so large that a bucket's number times their number has more than 32 bits shrinks.
func TestLargeTableShrinks(t *testing.T) {
	x := newTestIndex(nil)
	x.table.Store(newHashTable(1 << 17))
	for i := range 1000 {
		x.put(newNode(i, 0))
	}
	for x.tend() {
	}
	require.LessOrEqual(t, len(x.table.Load().buckets), 1<<10)
	requireKeys(t, x, 1000)
}

// Keys that come and go at a constant number leave no overflows behind for good.
func TestOverflowsGo(t *testing.T) {
	x := indexFor[int, int](0)
	const n = 2000 // of the 2304 that 512 buckets hold
	var versions []*node
	for key := range 100 * n {
		v := newNode(key, 0)
		x.put(v)
		if versions = append(versions, v); len(versions) > n {
			require.True(t, x.remove(place{}, versions[0]))
			versions = versions[1:]
		}
		if key%n == 0 {
			for x.tend() {
			}
		}
	}
	for x.tend() {
	}
	table, overflows := x.table.Load(), 0
	for i := range table.buckets {
		overflows += table.buckets[i].length() - 1
	}
	require.Len(t, table.buckets, 512)
	require.LessOrEqual(t, overflows, 512)
	bucketSize, overflowSize := unsafe.Sizeof(table.buckets[0]), unsafe.Sizeof(overflow{})
	require.Equal(t, uint64(512*bucketSize+uintptr(overflows)*overflowSize), x.bytes())
}

// A table that is not large is announced at once, though the background takes its time.
func TestTableIsAnnouncedAtOnce(t *testing.T) {
	x := indexFor[int, int](0)
	var all []func()
	x.spawn = func(f func()) bool { all = append(all, f); return true }
	i := 0
	for ; len(all) == 0; i++ {
		x.put(newNode(i, 0))
	}
	old := x.table.Load()
	require.NotNil(t, old.next.Load())
	for ; len(all) == 1; i++ { // those that insert move all of it
		x.put(newNode(i, 0))
	}
	require.NotSame(t, old, x.table.Load())
	all[0]() // comes too late
	require.True(t, old.next.Load() == nil)
	requireKeys(t, x, i)
}

// A table that is too small when it is complete is replaced by a larger one.
func TestTableGrowsAgain(t *testing.T) {
	x := newTestIndex(nil)
	var all []func()
	x.spawn = func(f func()) bool { all = append(all, f); return true }
	for i := range 100 {
		x.put(newNode(i, 0))
	}
	for len(all) > 0 {
		all[0]()
		all = all[1:]
	}
	require.True(t, x.fits())
}

// A commit of very many new keys that ends in a conflict does not leave a large index.
func TestWithdrawnKeysLeaveNothing(t *testing.T) {
	m := newMap[int, int](t, nil)
	n := sizes(20_000, 5_000)
	m.Begin(nil).Rollback() // a state is at hand: to begin wakes nobody
	eventually(t, func() bool { return m.Stats().Parks > 0 }, "the ticker does not rest")
	tx := m.Begin(nil)
	tx.Get(-1) // absent
	for i := range n {
		tx.Set(i, i)
	}
	m.Store(-1, 1)
	require.ErrorIs(t, tx.Commit(), ErrConflict)
	eventually(t, m.index.fits, "the index stays large")
}

func TestAbsurdCapacity(t *testing.T) {
	if bits.UintSize == 32 {
		t.Skip("there may be memory for as many")
	}
	require.Panics(t, func() { indexFor[int, int](math.MaxInt) })
}
