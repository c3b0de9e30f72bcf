package browsertest

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/report"
	"github.com/mvccmap/mvccmap/internal/bench/results"
	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/profiling/runs"
)

// longName is as long as the name of a run may be.
const longName = "a-long-name-which-goes-on-and-on-to-see-where-it-is-broken-off"

// sums returns a run with these throughputs of some engines.
func sums(day int, cpu string, ops map[string]float64) *results.Run {
	r := &results.Run{Header: results.Header{
		Program: "mvccbench v1", Started: time.Date(2026, 11, day, 12, 0, 0, 0, time.UTC), Seed: 1,
		Machine: results.Machine{
			Go: "go1.26", GOOS: "linux", GOARCH: "amd64", CPU: cpu, CPUs: 2, GOMAXPROCS: 2,
		},
		Count: 6, Warmup: 50 * time.Millisecond, Duration: 200 * time.Millisecond, Loop: "closed",
	}}
	for _, engine := range []string{"squares", "cubes", "powers"} {
		for i := range 6 {
			v := ops[engine] * (1 + 0.001*float64(i))
			r.Samples = append(r.Samples, results.Sample{
				Workload: "sums", Title: "Sums", Engine: engine, Level: "serializable", Threads: 2,
				Index: i, Ops: uint64(v), Wall: time.Second, Metrics: map[string]float64{"ops/s": v},
			})
		}
	}
	r.Outcome = results.Outcome{Kind: results.Complete, Done: 18, Of: 18}
	return r
}

// comparison writes the page of "mvccbench ab" with profiles, and returns where.
func comparison(t *testing.T) string {
	t.Helper()
	var sides report.Sides
	var sources [2]*results.Source
	var profiles [2]*profile.Profile
	sides.Old = sums(20, "one", map[string]float64{"squares": 512e3, "cubes": 5.75e6, "powers": 1e6})
	sides.New = sums(20, "one", map[string]float64{"squares": 256e3, "cubes": 5.75e6, "powers": 2e6})
	for i, r := range []*results.Run{sides.Old, sides.New} {
		var err error
		sources[i], err = r.Source([]string{"main", "."}[i])
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, pprof.Lookup("goroutine").WriteTo(&b, 0))
		profiles[i], err = profile.ParseData(b.Bytes())
		require.NoError(t, err)
		testload.Leak(t, 20)
		testload.Await(t, 20, "testload.Leaked(", "chan receive")
	}
	c, err := results.Compare(sources[0], sources[1], results.Options{Alpha: 0.05, Turns: true})
	require.NoError(t, err)
	c.Verdict, sides.Comparison = c.Decide(false), c
	sides.Changes = []report.Change{report.NewChange("Sums/engine=squares", profiles, [2]uint64{1, 1})}
	name := filepath.Join(t.TempDir(), "ab.html")
	require.NoError(t, report.WriteComparison(name, sides))
	return "file://" + name
}

// savedRuns are pages of two runs, of which the second does something more, and of one that
// cannot be read.
func savedRuns(t *testing.T) http.Handler {
	dir := t.TempDir()
	kept, err := results.OpenShelf(dir)
	require.NoError(t, err)
	var goroutines bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&goroutines, 0))
	for name, r := range map[string]*results.Run{
		"before": sums(20, "one", map[string]float64{"squares": 512e3, "cubes": 5.75e6, "powers": 1e6}),
		longName: sums(21, "another", map[string]float64{"squares": 256e3, "cubes": 5.75e6, "powers": 2e6}),
	} {
		r.Profiles = map[string][]byte{
			"sums-squares-threads=2.cpu" + results.ProfileExtension: goroutines.Bytes(),
		}
		var b bytes.Buffer
		require.NoError(t, results.Write(&b, r))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".json"), b.Bytes(), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "broken.json"), []byte("nonsense"), 0o600))
	return runs.Handler("sums", kept)
}
