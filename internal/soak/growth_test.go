package soak

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// leaky returns a Target.Stats that opens a snapshot each time, which is not known of
// and never closed: so a real map grows.
func leaky() func(*mvcc.Map[int, int64]) mvcc.Stats {
	var kept []mvcc.Snapshot[int, int64]
	return func(m *mvcc.Map[int, int64]) mvcc.Stats {
		kept = append(kept, m.Snapshot())
		return m.Stats()
	}
}

// growing is a round of n keys, and what it does.
func growing(n int, target Target) Outcome {
	r := draw(1)
	r.grow(rand.New(rand.NewPCG(1, 1)))
	r.Keys, r.Workers, r.Size, r.Snapshots, r.Stores = n, 2, 1000, 1, true
	r.ReclaimInterval = 5 * time.Millisecond
	return target.orDefault().do(context.Background(), r)
}

// lying is a Target.Stats that says what lie makes of the truth.
func lying(lie func(s *mvcc.Stats)) Target {
	return Target{Stats: func(m *mvcc.Map[int, int64]) mvcc.Stats {
		s := m.Stats()
		lie(&s)
		return s
	}}
}

// Each count that grows with the commits is found, and so are a heap that nobody
// accounts for, background work that stands still, and what is left at rest.
func TestGrowthIsFound(t *testing.T) {
	patience := restPatience
	defer func() { restPatience = patience }()
	const n = 1000
	var heap [][]byte
	for name, c := range map[string]struct {
		lie  func(s *mvcc.Stats)
		want string
	}{
		"versions": {func(s *mvcc.Stats) { s.Versions += int(s.Commits) }, "beyond the "},
		"aside":    {func(s *mvcc.Stats) { s.Aside += int(s.Commits) }, "beyond the "},
		"queued":   {func(s *mvcc.Stats) { s.QueueDepth += int(s.Commits) }, "beyond the "},
		// How fast depends on the machine: see TestGrown.
		"versions, with time": {func(s *mvcc.Stats) {
			s.Versions += int(s.TickRefreshes) * 2 * n
		}, "beyond the "},
		"the heap": {func(*mvcc.Stats) {
			heap = append(heap, make([]byte, 16<<20))
		}, "the heap grows with the commits: "},
		"no tick": {func(s *mvcc.Stats) {
			s.TickRefreshes = 0
		}, "the background work stands still"},
		"at rest": {func(s *mvcc.Stats) {
			s.Aside = max(s.Aside, 1)
		}, "after the load and one Reclaim: 1000 versions of 1000 keys, 1 set aside"},
		"all is well": {func(*mvcc.Stats) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			restPatience = patience
			if name == "no tick" {
				restPatience = time.Millisecond
			}
			o := growing(n, lying(c.lie))
			heap = nil
			if c.want == "" {
				require.Nil(t, o.Violation)
				return
			}
			require.NotNil(t, o.Violation)
			require.Contains(t, o.Violation.Summary, c.want)
			require.Contains(t, o.Violation.Detail, "window")
			require.Contains(t, o.Violation.Detail, "Statistics of the map")
		})
	}
}

// What the heap does not give back after the load is found.
func TestHeapThatStays(t *testing.T) {
	patience := restPatience
	defer func() { restPatience = patience }()
	// On a busy machine no tick may come in so short a time: that is said first.
	for restPatience = 100 * time.Millisecond; ; restPatience *= 4 {
		var heap []byte
		o := growing(1000, lying(func(*mvcc.Stats) {
			if heap == nil {
				heap = make([]byte, 2*keptRoom)
			}
		}))
		require.NotNil(t, o.Violation)
		heap[0] = 1
		if restPatience >= patience || !strings.Contains(o.Violation.Summary, "no tick in") {
			require.Contains(t, o.Violation.Summary, "after the load the heap is not given back: ")
			return
		}
	}
}

// The figures that were measured of a map whose background work fell behind, beside a
// compiler, and those of one whose did not.
func TestGrown(t *testing.T) {
	r := Round{Keys: 10_000, Workers: 3, Snapshots: 1} // 50,000 versions are needed
	const mb = 1 << 20
	round := func(aside ...int) (all []gauge) {
		all = append(all, gauge{versions: r.Keys, heap: 2 * mb, bytes: mb})
		for i, n := range aside {
			all = append(all, gauge{commits: uint64(i+1) * 600_000, versions: 3 * r.Keys,
				aside: n, heap: 2*mb + int64(n)*120, bytes: mb + int64(n)*40})
		}
		return all
	}
	require.Contains(t, grown(r, round(740_000, 1_480_000, 2_220_000, 2_960_000, 3_700_000)),
		"versions grow with the commits: 3660000 beyond the 50000 that are needed, of 10000 keys, "+
			"after 3000000 commits")
	require.Contains(t, grown(r, round(150_000, 160_000, 200_000, 250_000, 300_000)),
		"versions grow", "at its start")
	require.Empty(t, grown(r, round(300_000, 310_000, 320_000, 330_000, 340_000)),
		"it has not doubled")
	require.Empty(t, grown(r, round(100_000, 300_000, 290_000, 310_000, 320_000)), "it fell")
	require.Empty(t, grown(r, round(20_000, 40_000, 60_000, 80_000, 150_000)), "it is not much")
	require.Empty(t, tooMuch(r, round(2_500_000)[1]))
	require.Contains(t, tooMuch(r, round(3_700_000)[1]),
		"3660000 versions beyond the 50000 that are needed")

	all := round(0, 0, 0, 0, 0)
	for i := range all {
		all[i].heap = int64(i+1) * 20 * mb
	}
	require.Contains(t, grown(r, all),
		"the heap grows with the commits: from 21.0 MB to 126 MB after 3000000 commits")
	for i := range all {
		all[i].bytes = int64(i) * 20 * mb
	}
	require.Empty(t, grown(r, all), "the map says so")
	require.Contains(t, table(all), "  126 MB   105 MB")
	require.Len(t, strings.Split(strings.TrimSpace(table(all)), "\n"), 1+len(all))
}
