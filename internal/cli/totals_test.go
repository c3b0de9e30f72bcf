package cli

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/profiling/prom"
)

// counts returns how many operations are exported of each kind.
func counts(list []prom.Operation) map[string]uint64 {
	all := map[string]uint64{}
	for _, o := range list {
		all[o.Name] = 0
		for _, n := range o.Latency.All() {
			all[o.Name] += n
		}
	}
	return all
}

// All operations of all runs are exported, whichever part was timed, and whoever reads meanwhile;
// those of warm-ups are not.
func TestTotalsHaveEveryOperation(t *testing.T) {
	w, ok := bench.WorkloadByName("counter")
	require.True(t, ok)
	engine, ok := bench.EngineByName("mvcc")
	require.True(t, ok)
	trial, err := bench.New(bench.Config{Workload: w, Engine: engine, Threads: 2, LatencySample: 7})
	require.NoError(t, err)
	defer trial.Close()
	c := new(totals)
	c.read(trial, "counter on mvcc")
	require.Empty(t, c.exported())

	_, err = trial.RunFor(t.Context(), time.Millisecond, false)
	require.NoError(t, err)
	c.read(trial, "counter on mvcc")
	warm, _, _, l := c.shown()
	require.Zero(t, l)
	require.Empty(t, c.exported())

	var want uint64
	for range 3 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 20 {
				c.read(trial, "counter on mvcc")
			}
		}()
		m, err := trial.RunFor(t.Context(), 20*time.Millisecond, true)
		require.NoError(t, err)
		<-done
		c.read(trial, "counter on mvcc")
		want += m.Ops
		ops, _, _, l := c.shown()
		require.Equal(t, warm+want, ops)
		require.Positive(t, l.Max)
		require.Equal(t, map[string]uint64{"counter on mvcc": want}, counts(c.exported()))
	}
}
