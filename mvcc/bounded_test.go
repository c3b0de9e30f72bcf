package mvcc

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
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

// Readers begin and end all the time, each as of an epoch of its own, beside writers of the keys
// that they read. The versions to be kept move down the chains then, and those between need not be
// kept any more. Writers drop these alone: no tick comes in these tests.

// A beside is a map whose keys are read and written.
type beside struct {
	name string
	m    *Map[int, int]
	// cores are those with chains: of the map, and of the table of its index.
	cores []*core
}

func besides(t testing.TB, opts Options) (all []beside) {
	if opts.ReclaimInterval == 0 {
		opts.ReclaimInterval = time.Hour
	}
	plain, ordered := newMap[int, int](t, &opts), NewOrdered[int, int](&opts)
	t.Cleanup(ordered.Close)
	db := newDB(t, &opts)
	indexed := NewTable[int, int](db, "indexed", nil)
	byValue, err := NewIndex(indexed, "by value", func(_, v int) []int { return []int{v % 2} }, nil)
	require.NoError(t, err)
	all = []beside{
		{"map", plain, []*core{coreOf(plain)}},
		{"ordered", ordered, []*core{coreOf(ordered)}},
		{"index", indexed, []*core{coreOf(indexed), coreAt(byValue.entries.at)}},
	}
	for range 50 { // of which the readers know nothing
		NewTable[int, int](db, fmt.Sprint("another ", len(db.Tables())), nil).Store(1, 1)
	}
	return all
}

// versions returns how many versions a chain has, on average and at most.
func (b *beside) versions() (mean float64, most int) {
	keys, sum := 0, 0
	for _, c := range b.cores {
		c.index.Scan(func(_ index.Place, v *chain.Node) bool {
			n := 0
			for ; v != nil; v = v.Next.Load() {
				n++
			}
			keys, sum, most = keys+1, sum+n, max(most, n)
			return true
		})
	}
	return float64(sum) / float64(keys), most
}

// turnover opens and closes a snapshot, so that readers are open, the oldest of them or any, and
// stores each of keys once for each time.
func (b *beside) turnover(open []Snapshot[int, int], keys, times int, oldest bool) {
	for round := range times {
		if len(open) > 0 {
			i := round % len(open)
			if !oldest {
				i = rand.IntN(len(open))
			}
			open[i].Close()
			open[i] = b.m.Snapshot()
		}
		for key := range keys {
			b.m.Store(key, round)
		}
	}
}

// requireShort checks that chains have at most about twice as many versions as epochs are live, and
// some.
func (b *beside) requireShort(t *testing.T, readers int, about string) {
	t.Helper()
	mean, most := b.versions()
	t.Logf("%s, %d readers: %.1f versions of a key, %d at most; %s", b.name, readers, mean, most, about)
	limit := 2*(readers+1) + DefaultPruneThreshold
	if readers > chain.CountMax { // then chance decides when all of a chain is pruned
		limit = 3 * (readers + 2)
		require.LessOrEqual(t, most, 5*limit)
	} else {
		require.LessOrEqual(t, most, limit+slack)
	}
	require.LessOrEqual(t, mean, float64(limit))
}

// However many readers there are, and however these end, chains are as long as they need them to
// be.
func TestWritersPruneBesideReaders(t *testing.T) {
	const keys = 20
	many := []int{2, 20, 50, 300}
	if stage.Race || testing.Short() {
		many = []int{2, 80}
	}
	for name, opts := range map[string]Options{
		"defaults": {}, "threshold of 1": {PruneThreshold: 1}, "committers": {ReclaimWorkers: -1},
		"by hand": {ManualReclaim: true, ReclaimQueue: 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, b := range besides(t, opts) {
				for _, readers := range many {
					open := make([]Snapshot[int, int], readers)
					for _, oldest := range []bool{true, false} {
						b.turnover(open, keys, 4*readers+20, oldest)
						b.requireShort(t, readers, "turning over")
					}
					// All end but one in the middle, late.
					for i := range open[1:] {
						open[1+i].Close()
					}
					b.turnover(nil, keys, 2*DefaultPruneThreshold, true)
					b.requireShort(t, 1, "one is left")
					open[0].Close()
				}
				checkQuiet(t, b.m)
			}
		})
	}
}

// A writer drops the versions below the one that it covers, if nobody sees them.
func TestWritersTrim(t *testing.T) {
	m := newMap[int, int](t, still())
	for i := range 5 {
		m.Store(1, i)
	}
	require.Len(t, chainOf(m, 1), 5)
	coreOf(m).gc.Refresh()
	m.Store(1, 5)
	require.Len(t, chainOf(m, 1), 2)
	s := m.Snapshot()
	m.Store(1, 6)
	coreOf(m).gc.Refresh()
	m.Store(1, 7)
	requireValue(t, 5)(s.Get(1))
	m.Store(1, 8)
	s.Close()
	coreOf(m).gc.Refresh()
	mustUpdate(t, m, nil, func(tx Tx[int, int]) {
		tx.Set(1, 9)
		tx.Set(2, 9)
	})
	require.Len(t, chainOf(m, 1), 2)
}
