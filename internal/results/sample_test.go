package results

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
)

// Each figure of a measurement has a description; those that nothing is known of
// are left out.
func TestFigures(t *testing.T) {
	w, _ := bench.WorkloadByName("transfer")
	f := figures(bench.Config{Workload: w, Attempts: 2}, bench.Measurement{
		Ops: 1000, Aborts: 100, Errors: 10, Wall: time.Second, CPU: 2 * time.Second,
		Bytes: 16_000, Allocs: 2_000,
		GCs: 3, GCPause: 10 * time.Millisecond, GCShare: 0.25, Rate: 2000, Backlog: 990, Audits: 7,
		Memory: &bench.Memory{HeapStart: 1, HeapPeak: 3, HeapEnd: 2, VersionsStart: 4,
			VersionsPeak: 6, VersionsEnd: 5},
	})
	require.Equal(t, map[string]float64{
		"ns/op": 1e6, "ops/s": 1000, "achieved-%": 50.5, "backlog": 990, "err/s": 10, "aborts/op": 0.1,
		"cpu-ns/op": 2e6,
		"B/op":      16, "allocs/op": 2, "gc-%": 25, "gc-pause-%": 1, "gc/s": 3, "audits/s": 7,
		"heap-start-B": 1, "heap-peak-B": 3, "heap-end-B": 2, "versions-start": 4, "versions-peak": 6,
		"versions-end": 5,
	}, f)
	w, _ = bench.WorkloadByName("begin")
	f = figures(bench.Config{Workload: w}, bench.Measurement{Ops: 1, Wall: time.Second})
	for _, unit := range []string{"achieved-%", "backlog", "err/s", "cpu-ns/op", "audits/s",
		"heap-peak-B", "p50-ns", "max-ns", "ctx-switches/op"} {
		require.NotContains(t, f, unit)
	}
}

func TestParametersInRecords(t *testing.T) {
	w, _ := bench.WorkloadByName("zipf-read")
	p := bench.NoParams
	p.Theta, p.ValueSize = 0.5, bench.ValueSize{Min: 16, Max: 64}
	w, err := w.With(p)
	require.NoError(t, err)
	e, _ := bench.EngineByName("mvcc")
	c := bench.Config{Workload: w, Engine: e, Threads: 3, Isolation: bench.Snapshot}
	s := NewSample(c, bench.Measurement{Wall: 1})
	require.Equal(t, "ZipfRead/theta=0.5/value-size=16-64/isolation=snapshot", s.Title)
	require.Equal(t, "snapshot", s.Level)
	require.Equal(t, c.Name(), s.Name(1))
	var got []string
	for _, p := range s.Params {
		got = append(got, p.Name+"="+p.Value)
	}
	require.Equal(t, []string{"keys=1000", "read-pct=90", "theta=0.5",
		"value-size=16-64", "isolation=snapshot"}, got)
}
