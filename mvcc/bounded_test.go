package mvcc

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// The memory of a map follows the records and readers that are live, never those of the past. Each
// pattern of patterns_test.go might break this. Heap and versions are measured at the start, at the
// peak and at the end, and logged: run it with -v. Versions that concurrent writers leave are
// looked at by rounds of growth, see internal/proof/soak.

// slack is how many versions a chain may have beyond those that are being read.
const slack = 32

// heap returns the bytes in use after a garbage collection, or several: objects with a cleanup, of
// this test or of one before, take more than one.
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
		for v := e.head; v != nil; v = v.Next.Load() {
			length++
		}
		n = max(n, length)
	}
	return n
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

// A gauge is the size of a map at one moment.
type gauge struct {
	heap     int64
	versions int // counted by walking all chains
	entries  int
}

// measure counts after the background work that is due.
func measure[K comparable, V any](t *testing.T, m *Map[K, V]) gauge {
	t.Helper()
	require.NoError(t, m.Reclaim(bg))
	return measureAsIs(m)
}

// measureAsIs counts at once.
func measureAsIs[K comparable, V any](m *Map[K, V]) gauge {
	g := gauge{heap: heap()}
	for _, e := range heads(m) {
		g.entries++
		for v := e.head; v != nil; v = v.Next.Load() {
			g.versions++
		}
	}
	runtime.KeepAlive(m)
	return g
}

// A course is how a map's size went during a pattern.
type course struct {
	t                *testing.T
	start, peak, end gauge
}

// peaked raises the peak to the figures of g.
func (c *course) peaked(g gauge) {
	c.peak.heap = max(c.peak.heap, g.heap)
	c.peak.versions = max(c.peak.versions, g.versions)
	c.peak.entries = max(c.peak.entries, g.entries)
}

// inHand is how many keys the goroutines of a map may have in hand when somebody else reclaims: old
// versions of these are dropped a moment later.
const inHand = 2 * 256

// requireAbout checks a number of versions that were counted while others may have
// had some keys in hand.
func requireAbout(t *testing.T, want, got int) {
	t.Helper()
	require.GreaterOrEqual(t, got, want)
	require.LessOrEqual(t, got, want+inHand)
}

// ended measures m until it is as it was at the start, exactly in versions and entries, and logs
// the course. The heap must be as it was but for room bytes, for memory that is kept for later use.
func ended[K comparable, V any](c *course, m *Map[K, V], room int64) {
	c.t.Helper()
	defer func() {
		if c.t.Failed() {
			c.t.Logf("start %+v, end %+v; %+v", c.start, c.end, m.Stats())
		}
	}()
	stage.Eventually(c.t, func() bool {
		c.end = measure(c.t, m)
		return c.end.versions == c.start.versions && c.end.entries == c.start.entries &&
			c.end.heap-c.start.heap < room
	}, "the map does not become what it was")
	show := func(g gauge) string {
		return fmt.Sprintf("%.1f MiB, %d versions, %d keys", float64(g.heap)/(1<<20),
			g.versions, g.entries)
	}
	c.t.Logf("start: %s; peak: %s; end: %s", show(c.start), show(c.peak), show(c.end))
}

// begin fills m with keys 0..n-1 and measures it.
func begin(t *testing.T, m *Map[int, int], n int) *course {
	t.Helper()
	for i := range n {
		m.Store(i, 0)
	}
	g := measure(t, m)
	return &course{t: t, start: g, peak: g}
}

// Without workers committers prune the keys that were handed over before, also after Close: a few
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
			n := stage.Sizes(100_000, 10_000)
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
