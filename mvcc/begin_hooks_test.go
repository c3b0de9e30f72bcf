//go:build mvcccheck

package mvcc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

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
