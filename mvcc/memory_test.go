package mvcc

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Memory stays bounded: by what is being read, and not by for how long.

// slack is how many versions a chain may have beyond those that are being read.
const slack = 32

// heap returns the bytes in use after a garbage collection, or several: what has a
// cleanup, of this test or of one before, takes more than one.
func heap() int64 {
	var s runtime.MemStats
	for last, n := int64(0), 0; ; n++ {
		runtime.GC()
		runtime.ReadMemStats(&s)
		now := int64(s.HeapAlloc)
		if n > 0 && now >= last-1<<16 || n == 10 {
			return now
		}
		last = now
	}
}

// longest returns the length of the longest chain. Writers may be going on.
func longest[K comparable, V any](m *Map[K, V]) (n int) {
	for _, e := range heads(m) {
		length := 0
		for v := e.head; v != nil; v = v.next.Load() {
			length++
		}
		n = max(n, length)
	}
	return n
}

// liveEpochs returns how many distinct epochs the snapshots read at.
func liveEpochs[K comparable, V any](snapshots []Snapshot[K, V]) int {
	var es []uint64
	for _, s := range snapshots {
		es = append(es, s.Epoch())
	}
	slices.Sort(es)
	return len(slices.Compact(es))
}

// overwrite overwrites the keys below n round robin, with the numbers from..to,
// and calls look now and then.
func overwrite(m *Map[int, int], n, from, to int, look func()) {
	for i := from; i < to; i++ {
		m.Store(i%n, i)
		if i%(1<<14) == 0 {
			look()
		}
	}
}

// A snapshot sees of each key the number stored last before it was opened.
type opened struct {
	s  Snapshot[int, int]
	at int // how many numbers had been stored
}

func (o opened) check(t *testing.T, n int, keys ...int) {
	t.Helper()
	for _, key := range keys {
		want := o.at - 1 - ((o.at-1-key)%n+n)%n
		requireValue(t, want)(o.s.Get(key))
	}
}

// pruneTo prunes until no chain is longer than n. Once is enough unless the
// background work is pruning the same key with an older view.
func pruneTo[K comparable, V any](t *testing.T, m *Map[K, V], n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		prune(m)
		return longest(m) <= n
	}, time.Minute, time.Millisecond)
}

// The heap and the chains follow what is read, however often the keys are overwritten.
func TestMemoryWithReaders(t *testing.T) {
	for _, readers := range []int{1, sizes(1000, 200)} {
		t.Run(fmt.Sprint(readers), func(t *testing.T) { memoryWithReaders(t, readers) })
	}
}

func memoryWithReaders(t *testing.T, readers int) {
	const n = 1000
	total, step := sizes(1_000_000, 50_000), 100
	m := newMap[int, int](t, nil)
	overwrite(m, n, 0, n, func() {})
	var all []opened
	var snapshots []Snapshot[int, int]
	r := rand.New(rand.NewPCG(1, 1))
	worst := 0
	look := func() { worst = max(worst, longest(m)-len(snapshots)) }
	done := n
	for range readers { // each at an epoch of its own
		all = append(all, opened{m.Snapshot(), done})
		snapshots = append(snapshots, all[len(all)-1].s)
		overwrite(m, n, done, done+step, look)
		done += step
	}
	require.Equal(t, readers, liveEpochs(snapshots))
	prune(m)
	held := longest(m)
	before := heap()
	start := time.Now()
	overwrite(m, n, done, done+total, look)
	with := time.Since(start)
	after := heap()
	require.LessOrEqual(t, worst, 2+slack)
	require.Less(t, after-before, int64(1<<20+readers*3<<10), "the heap grows with the number of overwrites")
	for _, o := range all {
		o.check(t, n, r.IntN(n), r.IntN(n), r.IntN(n), 0, n-1)
	}
	pruneTo(t, m, readers+2)

	// Half of them go, in no order; what only they saw goes with them.
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, o := range all[:readers/2] {
		o.s.Close()
	}
	all = all[readers/2:]
	pruneTo(t, m, len(all)+2)
	for _, o := range all {
		o.check(t, n, r.IntN(n), r.IntN(n), r.IntN(n), 0, n-1)
		o.s.Close()
	}
	pruneTo(t, m, 1)
	checkQuiet(t, m)
	start = time.Now()
	overwrite(m, n, 0, total, look)
	t.Logf("%d snapshots, %d versions of a key: heap %d KiB, then %d KiB; %.0f ns/Store with them, "+
		"%.0f without",
		readers, held, before>>10, after>>10,
		float64(with)/float64(total), float64(time.Since(start))/float64(total))
}

// The background work alone gets chains down to what is read, key by key, when
// nobody writes any more; and again when a reader has gone.
func TestTickPrunes(t *testing.T) {
	for _, workers := range []int{1, 3} {
		opts := brisk()
		opts.ReclaimWorkers = workers
		m := newMap[int, int](t, opts)
		const n = 300
		overwrite(m, n, 0, n, func() {})
		old := m.Snapshot()
		overwrite(m, n, n, 5*n, func() {})
		m.Store(-1, 0)
		eventually(t, func() bool {
			return longest(m) <= 1+2
		}, "chains stay longer than what is read, with %d workers", workers)
		requireValue(t, 7)(old.Get(7))
		old.Close()
		eventually(t, func() bool {
			return longest(m) == 1
		}, "old versions stay after their reader has gone")
		require.Len(t, contents(t, m), n+1)
	}
}

// Without workers committers prune what was handed over before, also after Close: a few
// keys wait.
func TestCommittersPrune(t *testing.T) {
	closed := newMap[int, int](t, nil)
	closed.Store(1, 1)
	closed.Close()
	closed.Close()
	for name, m := range map[string]*Map[int, int]{
		"no workers": newMap[int, int](t, &Options{ReclaimWorkers: -1}),
		"closed":     closed,
	} {
		t.Run(name, func(t *testing.T) {
			overwrite(m, 10, 0, 5000, func() { require.LessOrEqual(t, longest(m), 2+slack) })
			for i := range 10 {
				m.Delete(i)
			}
			m.Delete(1)
			for i := range 1000 {
				m.Store(100+i, i)
				m.Delete(100 + i)
			}
			require.Empty(t, contents(t, m))
			require.Less(t, len(heads(m)), 500, "deleted keys stay in the index")
			n := sizes(100_000, 10_000)
			for i := range n {
				m.Store(1000+i, i)
				m.Delete(1000 + i)
				if i%1000 == 0 {
					require.Less(t, len(heads(m)), 1000)
				}
			}
			require.Less(t, m.Stats().CommitRefreshes, uint64(n/10), "each of them makes a view")
			require.NoError(t, m.Reclaim(bg))
			require.Empty(t, heads(m), "deleted keys stay in the index")
		})
	}
}

// Keys that come and go, ever new ones, leave nothing behind.
func TestDeletedKeysLeaveTheIndex(t *testing.T) {
	n := sizes(100_000, 10_000)
	m := newMap[int, int](t, brisk())
	m.Store(-1, 1)
	var most int
	for i := range n {
		switch i % 4 {
		case 0:
			m.Store(i, i)
			m.Delete(i)
		case 1:
			mustUpdate(t, m, nil, func(tx Tx[int, int]) {
				tx.Set(i, i)
				tx.Set(-i-2, i)
			})
			mustUpdate(t, m, nil, func(tx Tx[int, int]) {
				tx.Delete(i)
				tx.Delete(-i - 2)
			})
		case 2: // never there
			mustUpdate(t, m, nil, func(tx Tx[int, int]) {
				tx.Get(i)
				tx.Delete(i)
			})
		case 3: // in a transaction that is rolled back
			tx := m.Begin(nil)
			tx.Set(i, i)
			tx.Rollback()
		}
		if i%1024 == 0 {
			most = max(most, len(heads(m)))
		}
	}
	eventually(t, func() bool { return len(heads(m)) == 1 }, "deleted keys stay in the index")
	require.Equal(t, map[int]int{-1: 1}, contents(t, m))
	t.Logf("at most %d of %d entries in the index", most, n)
}

// A deleted key stays only as long as somebody sees it.
func TestDeletedKeysLeaveAfterReader(t *testing.T) {
	m := newMap[int, int](t, brisk())
	for i := range 500 {
		m.Store(i, i)
	}
	s := m.Snapshot()
	for i := range 500 {
		m.Delete(i)
	}
	late := m.Snapshot()
	require.Zero(t, late.Len())
	require.Equal(t, 500, s.Len())
	late.Close()
	requireValue(t, 499)(s.Get(499))
	s.Close()
	eventually(t, func() bool { return len(heads(m)) == 0 }, "deleted keys stay in the index")
}

// Keys that are merely looked for get no entry.
func TestProbedKeysLeaveNothing(t *testing.T) {
	m := newMap[int, int](t, nil)
	for i := range 1000 {
		requireAbsent[int](t)(m.Load(i))
		m.Delete(i)
		requireAbsent[int](t)(m.LoadAndDelete(i))
		require.False(t, CompareAndSwap(m, i, 0, 1))
		for _, opts := range levels {
			require.NoError(t, m.Update(bg, opts, func(tx Tx[int, int]) error {
				requireAbsent[int](t)(tx.Get(i))
				return tx.Err()
			}))
		}
		require.NoError(t, m.View(func(s Snapshot[int, int]) error {
			requireAbsent[int](t)(s.Get(i))
			return nil
		}))
	}
	require.Empty(t, heads(m))
}
