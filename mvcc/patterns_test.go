package mvcc

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// A pattern is a way to use a map, and the number of keys that are there first.
type pattern struct {
	name string
	keys int
	opts *Options
	room int64 // see ended: the index keeps its buckets
	run  func(m *Map[int, int], c *course)
}

func patterns() []pattern {
	hour := time.Hour
	return []pattern{
		{"one reader", stage.Sizes(100_000, 5_000), nil, 1 << 20, oneReader},
		{"snapshots", 100, nil, 1 << 20, manySnapshots},
		{"very many snapshots", 1000, nil, 1 << 20, veryManySnapshots},
		{"churn", 1000, nil, 4 << 20, func(m *Map[int, int], c *course) { churn(m, c, false) }},
		{"churn beside a reader", 1000, nil, 4 << 20,
			func(m *Map[int, int], c *course) { churn(m, c, true) }},
		{"probes", 1000, nil, 4 << 20, probes},
		{"leaks", 100, nil, 2 << 20, leaks},
		{"between ticks", 1, &Options{ReclaimInterval: hour}, 1 << 20, betweenTicks},
		{"short queue", 10_000, &Options{ReclaimInterval: hour, ReclaimQueue: 4}, 4 << 20, shortQueue},
	}
}

func TestBounded(t *testing.T) {
	for _, p := range patterns() {
		t.Run(p.name, func(t *testing.T) {
			m := newMap[int, int](t, p.opts)
			c := begin(t, m, p.keys)
			p.run(m, c)
			ended(c, m, p.room)
			require.Zero(t, m.Stats().Aside)
			require.Zero(t, m.Stats().QueueDepth)
			require.Zero(t, m.Stats().LiveTx)
			checkQuiet(t, m)
		})
	}
}

// A reader stays open for the whole run, beside keys that are overwritten all the
// time, now and then, and once each. It keeps one old version of each.
func oneReader(m *Map[int, int], c *course) {
	t, hot, all, rounds := c.t, 100, c.start.entries, stage.Sizes(200_000, 20_000)
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
}

// Many snapshots of different epochs are open: each keeps one version of each key, until it is
// closed, in any order.
func manySnapshots(m *Map[int, int], c *course) {
	const n = 100
	t, readers, r := c.t, stage.Sizes(1000, 50), rand.New(rand.NewPCG(1, 1))
	var open []Snapshot[int, int]
	at := map[Snapshot[int, int]]int{}
	for round := range readers {
		s := m.Snapshot()
		open, at[s] = append(open, s), max(0, round*20-1)
		for i := range 20 {
			for key := range n {
				m.Store(key, round*20+i)
			}
		}
		if round%10 == 0 {
			require.LessOrEqual(t, longest(m), len(open)+2+slack)
		}
	}
	r.Shuffle(readers, func(i, j int) { open[i], open[j] = open[j], open[i] })
	for _, share := range []int{10, 2, 1} {
		c.peaked(measure(t, m))
		requireAbout(t, n*(len(open)+1), measure(t, m).versions)
		for i, s := range open {
			requireValue(t, at[s])(s.Get(i % n))
		}
		for _, s := range open[:readers/share-readers+len(open)] {
			s.Close()
		}
		open = open[readers/share-readers+len(open):]
	}
}

// 10^5 snapshots are open at once. They cost a slot and a state each, and leave nothing
// behind.
func veryManySnapshots(m *Map[int, int], c *course) {
	t, n := c.t, stage.Sizes(100_000, 5_000)
	open := make([]Snapshot[int, int], n)
	for round := range 2 {
		for i := range open {
			open[i] = m.Snapshot()
			m.Store(i%1000, i)
		}
		g := measure(t, m)
		c.peaked(g)
		require.LessOrEqual(t, g.versions, 1000+n+inHand)
		// Some 400 bytes each when they are old, a version included; the spare room of lists; a
		// ring of the queue; and the backlog of a busy machine.
		require.Less(t, g.heap-c.start.heap, int64(n)*1000+2<<20, "round %d", round)
		for i := range open {
			open[i].Close()
		}
		require.NoError(t, m.Reclaim(bg)) // slots of old ones are free again after a tick
	}
	stage.Eventually(t, func() bool {
		reclaim(t, m, 1)
		return coreOf(m).Slots.Owned() < n/10
	}, "slots are kept")
}

// Keys are deleted, and new ones come, for ever; with a reader as of the start, and without.
func churn(m *Map[int, int], c *course, reader bool) {
	t, n := c.t, stage.Sizes(300_000, 8_000)
	s := m.Snapshot()
	if !reader {
		s.Close()
	}
	for i := 1000; i < 1000+n; i++ {
		if i%4 > 0 {
			m.Store(i, i)
			m.Delete(i)
		} else {
			mustUpdate(t, m, nil, func(tx Tx[int, int]) { tx.Set(i, i); tx.Set(-i, i) })
			mustUpdate(t, m, nil, func(tx Tx[int, int]) { tx.Delete(i); tx.Delete(-i) })
		}
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
}

// Keys that are only looked for get no entry, and leave nothing.
func probes(m *Map[int, int], c *course) {
	t, n := c.t, stage.Sizes(100_000, 3_000)
	for i := range n {
		key := 1000 + i
		requireAbsent[int](t)(m.Load(key))
		m.Delete(key)
		requireAbsent[int](t)(m.LoadAndDelete(key))
		require.False(t, CompareAndSwap(m, key, 0, 1))
		for _, opts := range levels {
			mustUpdate(t, m, opts, func(tx Tx[int, int]) {
				requireAbsent[int](t)(tx.Get(key))
				require.NoError(t, tx.Err())
			})
		}
		require.NoError(t, m.View(func(s Snapshot[int, int]) error {
			requireAbsent[int](t)(s.Get(key))
			return nil
		}))
		if i == 1000 {
			require.Len(t, heads(m), 1000)
		}
		if i < 1000 {
			continue
		}
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
}

// Transactions and snapshots that nobody ends hold nothing back once they are
// unreachable.
func leaks(m *Map[int, int], c *course) {
	t, n := c.t, stage.Sizes(2000, 200)
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
}

// A million versions of one key between two ticks: its writers prune it.
func betweenTicks(m *Map[int, int], c *course) {
	for i := range stage.Sizes(1_000_000, 30_000) {
		m.Store(0, i)
		if i < 2000 || i%1000 == 999 {
			c.peak.versions = max(c.peak.versions, longest(m))
		}
	}
	c.peak.heap = max(c.peak.heap, heap())
	require.LessOrEqual(c.t, c.peak.versions, 2+slack)
}

// The queue is too short for the keys written between two ticks: committers prune.
func shortQueue(m *Map[int, int], c *course) {
	n := c.start.entries
	for i := range stage.Sizes(500_000, 50_000) {
		m.Store(i%n, i)
		if i%16 == 0 {
			m.Store(n+i, i)
			m.Delete(n + i)
		}
	}
	c.peaked(gauge{heap: heap(), versions: m.Stats().Versions})
	require.LessOrEqual(c.t, longest(m), 2+slack)
	require.NotZero(c.t, m.Stats().SyncFallbacks)
}
