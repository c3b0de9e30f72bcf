package mvcc

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a map takes follows what is live, never what has happened. Each test below
// has one pattern that might break this, measures heap and versions at the start,
// at the peak and at the end, and logs them: run it with -v.

// A gauge is what a map holds at one moment.
type gauge struct {
	heap     int64
	versions int // counted by walking all chains
	entries  int
}

// measure counts, when the background work is done with what there was.
func measure[K comparable, V any](t *testing.T, m *Map[K, V]) gauge {
	t.Helper()
	require.NoError(t, m.Reclaim(bg))
	return measureAsIs(m)
}

// measureAsIs counts what there is.
func measureAsIs[K comparable, V any](m *Map[K, V]) gauge {
	g := gauge{heap: heap()}
	for _, e := range heads(m) {
		g.entries++
		for v := e.head; v != nil; v = v.next.Load() {
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

// peaked measures, and keeps what is most.
func (c *course) peaked(g gauge) {
	c.peak.heap = max(c.peak.heap, g.heap)
	c.peak.versions = max(c.peak.versions, g.versions)
	c.peak.entries = max(c.peak.entries, g.entries)
}

// inHand is how many keys the goroutines of a map may have in hand when somebody else
// reclaims: what they have to drop of them is dropped a moment later.
const inHand = 2 * 256

// requireAbout checks a number of versions that were counted while others may have
// had some keys in hand.
func requireAbout(t *testing.T, want, got int) {
	t.Helper()
	require.GreaterOrEqual(t, got, want)
	require.LessOrEqual(t, got, want+inHand)
}

// ended measures m until it is as it was at the start, exactly in versions and
// entries, and logs the course. The heap must be as it was but for room bytes, for what
// is kept for later use.
func ended[K comparable, V any](c *course, m *Map[K, V], room int64) {
	c.t.Helper()
	defer func() {
		if c.t.Failed() {
			c.t.Logf("start %+v, end %+v; %+v", c.start, c.end, m.Stats())
		}
	}()
	eventually(c.t, func() bool {
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

// A reader stays open for the whole run, beside keys that are overwritten all the
// time, now and then, and once each. It keeps one old version of each.
func TestBoundedWithOneReader(t *testing.T) {
	hot, all, rounds := 100, sizes(100_000, 5_000), sizes(200_000, 20_000)
	m := newMap[int, int](t, nil)
	c := begin(t, m, all)
	s := m.Snapshot()
	for i := range rounds {
		m.Store(i%hot, i)               // hot
		m.Store(hot+i%1000, i)          // cold
		if key := 1100 + i; key < all { // once
			m.Store(key, 1)
		}
		if i%(rounds/4) == 0 {
			c.peaked(measure(t, m))
		}
	}
	c.peaked(measure(t, m))
	requireAbout(t, c.start.versions+all, c.peak.versions)
	require.InDelta(t, all, m.Stats().Aside, inHand)
	n := 0
	for _, v := range s.All() {
		require.Zero(t, v)
		n++
	}
	require.Equal(t, all, n)
	s.Close()
	ended(c, m, 1<<20)
	require.Zero(t, m.Stats().Aside)
}

// Many snapshots of different epochs are open: each keeps one version of each key.
func TestBoundedWithSnapshots(t *testing.T) {
	const n = 100
	readers := sizes(1000, 100)
	m := newMap[int, int](t, nil)
	c := begin(t, m, n)
	var open []Snapshot[int, int]
	for r := range readers {
		open = append(open, m.Snapshot())
		for round := range 20 {
			for key := range n {
				m.Store(key, r*20+round)
			}
		}
	}
	c.peaked(measure(t, m))
	requireAbout(t, n*(readers+1), c.peak.versions)
	for i, s := range open {
		require.NoError(t, m.Reclaim(bg))
		requireValue(t, max(0, i*20-1))(s.Get(i % n))
		if i%10 == 0 {
			s.Close()
		}
	}
	c.peaked(measure(t, m))
	requireAbout(t, n*(readers-readers/10+1), measure(t, m).versions)
	for _, s := range open {
		s.Close()
	}
	ended(c, m, 1<<20)
}

// 10^5 snapshots are open at once. They cost a slot and a state each, and leave nothing
// behind.
func TestBoundedWithVeryManySnapshots(t *testing.T) {
	n := sizes(100_000, 5_000)
	m := newMap[int, int](t, nil)
	c := begin(t, m, 1000)
	open := make([]Snapshot[int, int], n)
	for round := range 2 {
		for i := range open {
			open[i] = m.Snapshot()
			m.Store(i%1000, i)
		}
		g := measure(t, m)
		c.peaked(g)
		require.LessOrEqual(t, g.versions, 1000+n+inHand)
		// Some 400 bytes each when they are old, a version included; what lists have to
		// spare; and a ring of the queue.
		require.Less(t, g.heap-c.start.heap, int64(n)*700+2<<20, "round %d", round)
		for i := range open {
			open[i].Close()
		}
		require.NoError(t, m.Reclaim(bg)) // slots of old ones are free again after a tick
	}
	open = nil
	ended(c, m, 1<<20)
	eventually(t, func() bool { return coreOf(m).slots.Owned() < n/10 }, "slots are kept")
}

// Keys are deleted, and new ones come, for ever; with a reader as of the
// start, and without.
func TestBoundedChurn(t *testing.T) {
	for _, reader := range []bool{false, true} {
		t.Run(fmt.Sprint("reader=", reader), func(t *testing.T) {
			n := sizes(300_000, 20_000)
			m := newMap[int, int](t, nil)
			c := begin(t, m, 1000)
			s := m.Snapshot()
			if !reader {
				s.Close()
			}
			for i := range n {
				m.Store(1000+i, i)
				m.Delete(1000 + i)
				if i%(n/8) == 0 {
					c.peaked(measure(t, m))
				}
			}
			c.peaked(measure(t, m))
			// To the reader they are absent with a tombstone and without one.
			requireAbout(t, c.start.versions, c.peak.versions)
			if reader {
				require.Equal(t, 1000, s.Len())
			}
			s.Close()
			ended(c, m, 4<<20) // the index keeps its buckets
		})
	}
}

// Keys that are only looked for leave nothing.
func TestBoundedProbes(t *testing.T) {
	n := sizes(100_000, 10_000)
	m := newMap[int, int](t, nil)
	c := begin(t, m, 1000)
	for i := range n {
		key := 1000 + i
		requireAbsent[int](t)(m.Load(key))
		m.Delete(key)
		mustUpdate(t, m, nil, func(tx Tx[int, int]) {
			tx.Get(key)
			tx.Set(i%1000, 0)
		})
		mustUpdate(t, m, nil, func(tx Tx[int, int]) {
			tx.Get(key)
			tx.Delete(key)
		})
	}
	c.peaked(measure(t, m))
	ended(c, m, 4<<20) // the index keeps its buckets
}

// Writers that are rolled back, that conflict and try again, or give up.
func TestBoundedAborts(t *testing.T) {
	n := sizes(50_000, 3_000)
	m := newMap[int, int](t, nil)
	c := begin(t, m, 1000)
	for i := range n {
		tx := m.Begin(nil)
		tx.Get(i % 1000)
		tx.Set(1000+i, 1) // a new key
		tx.Set(i%1000, 1)
		if i%2 == 0 {
			m.Store(i%1000, 2)
			require.ErrorIs(t, tx.Commit(), ErrConflict)
		}
		tx.Rollback()
		first := true
		mustUpdate(t, m, nil, func(tx Tx[int, int]) {
			v, _ := tx.Get(i % 1000)
			if first {
				first = false
				m.Store(i%1000, v+1)
			}
			tx.Set(i%1000, v+1)
		})
	}
	s := m.Stats()
	require.EqualValues(t, n, s.Retries)
	require.EqualValues(t, n/2+n, s.ReadConflicts)
	require.Equal(t, s.Conflicts, s.ReadConflicts)
	c.peaked(measure(t, m))
	ended(c, m, 4<<20) // the index keeps its buckets
}

// Transactions and snapshots that nobody ends hold nothing back once they are
// unreachable.
func TestBoundedLeaks(t *testing.T) {
	n := sizes(2000, 200)
	m := newMap[int, int](t, nil)
	c := begin(t, m, 100)
	for i := range n {
		m.Snapshot()
		tx := m.Begin(nil)
		tx.Get(i % 100)
		tx.Set(1000+i, 1)
		for key := range 100 {
			m.Store(key, i)
		}
		if i%(n/10) == 0 {
			c.peaked(measure(t, m))
		}
	}
	collect(t, func() bool {
		return m.Stats().Leaked == uint64(2*n)
	}, "leaked handles are not noticed")
	ended(c, m, 2<<20)
	require.Zero(t, m.Stats().LiveTx)
}

// A million versions of one key between two ticks: its writers prune it.
func TestBoundedBetweenTicks(t *testing.T) {
	m := newMap[int, int](t, &Options{ReclaimInterval: time.Hour})
	c := begin(t, m, 1)
	worst := 0
	for i := range sizes(1_000_000, 100_000) {
		m.Store(0, i)
		if i < 2000 || i%1000 == 999 {
			worst = max(worst, longest(m))
		}
	}
	c.peak.versions = worst
	c.peak.heap = max(c.peak.heap, heap())
	require.LessOrEqual(t, worst, 2+slack)
	ended(c, m, 1<<20)
}

// The queue is too short for what is written between two ticks: committers prune.
func TestBoundedWithShortQueue(t *testing.T) {
	const n = 10_000
	m := newMap[int, int](t, &Options{ReclaimInterval: time.Hour, ReclaimQueue: 4})
	c := begin(t, m, n)
	for i := range sizes(500_000, 50_000) {
		m.Store(i%n, i)
		if i%16 == 0 {
			m.Store(n+i, i)
			m.Delete(n + i)
		}
	}
	g := gauge{heap: heap(), versions: m.Stats().Versions}
	c.peaked(g)
	require.LessOrEqual(t, longest(m), 2+slack)
	require.NotZero(t, m.Stats().SyncFallbacks)
	ended(c, m, 4<<20) // the index keeps its buckets
	require.Zero(t, m.Stats().QueueDepth)
}

// Nobody works in the background, and somebody calls Reclaim now and then.
func TestBoundedManually(t *testing.T) {
	const n = 1000
	m := newMap[int, int](t, &Options{ManualReclaim: true, ReclaimQueue: 2 * n})
	c := begin(t, m, n)
	for round := range sizes(300, 30) {
		s := m.Snapshot()
		for i := range n {
			m.Store(i, i)
			m.Store(i, i+1)
		}
		require.LessOrEqual(t, m.Stats().Versions, 4*n)
		if round%2 == 0 {
			s.Close()
			require.NoError(t, m.Reclaim(bg))
			require.Equal(t, n, m.Stats().Versions)
		} else {
			require.NoError(t, m.Reclaim(bg))
			require.InDelta(t, 2*n, m.Stats().Versions, n/5, "an estimate") // of samples
			c.peaked(measure(t, m))
			s.Close()
		}
	}
	require.Zero(t, m.Stats().TickRefreshes)
	require.NotZero(t, m.Stats().ManualRefreshes)
	ended(c, m, 1<<20)
}
