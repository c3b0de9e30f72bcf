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

// growing is a round of n keys, and its work.
func growing(n int, target Target) Outcome {
	r := draw(1)
	r.grow(rand.New(rand.NewPCG(1, 1)))
	r.Keys, r.Workers, r.Size, r.Snapshots, r.Stores = n, 2, 2*excess*n, 1, true
	r.ReclaimInterval = 5 * time.Millisecond
	return target.orDefault().do(context.Background(), r)
}

// lying is a Target.Stats whose figures have passed through lie.
func lying(lie func(s *mvcc.Stats)) Target {
	return Target{Stats: func(m *mvcc.Map[int, int64]) mvcc.Stats {
		s := m.Stats()
		lie(&s)
		return s
	}}
}

// Each count that grows with the commits is found, and so are background work that stands still,
// and memory left at rest.
func TestGrowthIsFound(t *testing.T) {
	patience := restPatience
	defer func() { restPatience = patience }()
	const n = 1000
	for name, c := range map[string]struct {
		lie  func(s *mvcc.Stats)
		want string
	}{
		"versions": {func(s *mvcc.Stats) { s.Versions += int(s.Commits) }, "beyond the "},
		"aside":    {func(s *mvcc.Stats) { s.Aside += int(s.Commits) }, "beyond the "},
		"queued":   {func(s *mvcc.Stats) { s.QueueDepth += int(s.Commits) }, "beyond the "},
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
			if c.want == "" {
				require.Nil(t, o.Violation)
				return
			}
			require.NotNil(t, o.Violation)
			require.Contains(t, o.Violation.Summary, c.want)
			require.Contains(t, o.Violation.Detail, "Statistics of the map")
		})
	}
}

// Memory that the heap does not give back after the load is found.
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
