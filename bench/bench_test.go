package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkHarness is the harness with a Go map, or a B-tree, without a lock. Every figure of every
// engine has the harness in it.
func BenchmarkHarness(b *testing.B) {
	for _, w := range Workloads() {
		w.Params.Keys = min(w.Params.Keys, 1_000)
		benchmark(b, w, EngineSpec{Name: "unlocked", New: newLocked[noLock]}, 1)
	}
}

// BenchmarkEngines runs the workloads on each engine, for the profiler and benchstat.
func BenchmarkEngines(b *testing.B) {
	for _, w := range Workloads() {
		w.Params.Keys = min(w.Params.Keys, 10_000)
		for _, e := range Engines() {
			for _, threads := range []int{1, 4} {
				if _, ok := e.Runs(w); ok {
					benchmark(b, w, e, threads)
				}
			}
		}
	}
}

func benchmark(b *testing.B, w Workload, e EngineSpec, threads int) {
	b.Run(fmt.Sprintf("%s/engine=%s/threads=%d", w.Title(), e.Name, threads), func(b *testing.B) {
		t, err := New(Config{Workload: w, Engine: e, Threads: threads, Seed: 1, LatencySample: maxSample,
			AuditInterval: time.Hour})
		require.NoError(b, err)
		defer t.Close()
		b.ResetTimer()
		m, err := t.RunOps(b.Context(), uint64(b.N))
		b.StopTimer()
		require.NoError(b, err)
		b.ReportMetric(m.NsPerOp(), "ns/op")
		b.ReportMetric(m.AllocsPerOp(), "allocs/op")
		require.NoError(b, t.Verify())
	})
}
