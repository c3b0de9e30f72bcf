//go:build mvcccheck

package mvcc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/stage"
)

// A snapshot that stays open across a deletion keeps the entry, whatever is
// inserted, deleted and pruned meanwhile; afterwards it goes.
func TestSnapshotAcrossDeletion(t *testing.T) {
	m := newMap[string, int](t, still())
	s0 := m.Snapshot()
	m.Store("x", 1)
	s1 := m.Snapshot()
	m.Delete("x")
	s2 := m.Snapshot()
	prune(m)
	m.Store("x", 3)
	s3 := m.Snapshot()
	m.Delete("x")
	prune(m)
	see := func(opened ...Snapshot[string, int]) {
		t.Helper()
		for _, s := range opened {
			want := map[Snapshot[string, int]]int{s1: 1, s3: 3}[s]
			got, ok := s.Get("x")
			require.Equal(t, want != 0, ok)
			require.Equal(t, want, got)
			n := 0
			for key, value := range s.All() {
				require.Equal(t, "x", key)
				require.Equal(t, want, value)
				n++
			}
			require.Equal(t, min(want, 1), n)
			require.Equal(t, n, s.Len())
		}
	}
	for range 2 {
		see(s0, s1, s2, s3)
		prune(m)
	}
	s1.Close()
	prune(m)
	see(s0, s2, s3)
	s0.Close()
	prune(m)
	see(s2, s3)
	s3.Close()
	prune(m)
	see(s2)
	s2.Close()
	prune(m)
	require.Empty(t, heads(m))
}

// A goroutine that sleeps in the middle of a refresh does not let chains grow:
// committers make newer views beside it, and its own does no harm later.
func TestSleepingRefresher(t *testing.T) {
	for _, p := range []hooks.Point{hooks.BoundLoaded, hooks.BoundStored, hooks.SlotsScanned} {
		m := newMap[string, int](t, &Options{ReclaimInterval: time.Hour})
		r := stage.New(t).Actor("refresher", coreOf(m).gc.Refresh).To(p)
		s := m.Snapshot()
		for i := range 10_000 {
			m.Store("k", i)
			if i%1000 == 0 {
				require.LessOrEqual(t, len(chainOf(m, "k")), 1+2+slack, "after %d stores, at %v", i, p)
			}
		}
		bound := coreOf(m).gc.View().Bound
		r.Finish()
		require.GreaterOrEqual(t, coreOf(m).gc.View().Bound, bound)
		requireAbsent[int](t)(s.Get("k"))
		s.Close()
		prune(m)
		require.Len(t, chainOf(m, "k"), 1)
		checkQuiet(t, m)
	}
}
