package browsertest

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/results"
	"github.com/mvccmap/mvccmap/profiling"
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

// record profiles work until a CPU profile has seen the named functions.
func record(t *testing.T, work func(), functions ...string) profiling.Profiles {
	t.Helper()
	r, err := profiling.NewRecorder("the test")
	require.NoError(t, err)
	defer r.Close()
	var sum profiling.Profiles
	for !names(t, sum["cpu"], functions) {
		stop, err := r.Start()
		require.NoError(t, err)
		for range 300 {
			work()
		}
		list, err := stop()
		require.NoError(t, err)
		sum, err = sum.Merge(list)
		require.NoError(t, err)
	}
	return sum
}

// names reports whether a profile has samples of all these functions: of others it does
// not have the names.
func names(t *testing.T, data []byte, functions []string) bool {
	t.Helper()
	if data == nil {
		return false
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	for _, f := range functions {
		if !bytes.Contains(text, []byte("browsertest."+f)) {
			return false
		}
	}
	return true
}

// savedRuns are pages of two runs, of which the second does something more, and of one that
// cannot be read.
func savedRuns(t *testing.T) http.Handler {
	store, err := results.OpenStore()
	require.NoError(t, err)
	h := runs.Handler("sums", store)
	if _, err := os.Stat(store.Path("broken")); err == nil { // they are there
		return h
	}
	save := func(name string, r *results.Run, work func(), functions ...string) {
		files := map[string][]byte{}
		for kind, data := range record(t, work, functions...) {
			files["sums-squares-threads=2."+kind+results.ProfileExtension] = data
		}
		require.NoError(t, store.SaveProfiled(name, r, files))
	}
	save("before", sums(20, "one", map[string]float64{"squares": 512e3,
		"cubes": 5.75e6, "powers": 1e6}),
		func() { runtime.KeepAlive(sumOfSquares(1_000_000)) }, "sumOfSquares")
	save(longName, sums(21, "another", map[string]float64{"squares": 256e3,
		"cubes": 5.75e6, "powers": 2e6}),
		func() { runtime.KeepAlive(sumOfSquares(1_000_000) + sumOfCubes(3_000_000)) },
		"sumOfSquares", "sumOfCubes")
	require.NoError(t, os.WriteFile(store.Path("broken"), []byte("nonsense"), 0o600))
	return h
}

// The way of a user: two saved runs are chosen, what has changed is read, and a flame
// graph shows what has grown.
func TestRunsAreComparedToTheFlameGraph(t *testing.T) {
	t.Parallel()
	b := open(t)
	srv, long := start(t, profiling.Config{Title: "sums", Runs: savedRuns(t)}), longName
	require.Equal(t, http.StatusOK, b.visit(srv.URL()+"/debug/pprof/"))
	require.Equal(t, http.StatusOK, b.click(`nav a[href="runs/"]`))
	require.Equal(t, srv.URL()+"/debug/pprof/runs/", b.address())
	b.shoot("runs")
	require.Equal(t, http.StatusOK, b.click("#compare button"))
	require.Equal(t, srv.URL()+"/debug/pprof/runs/compare?old=before&new="+long, b.address())
	b.shoot("compare")

	// Red has grown: the cubes, which only the second run has.
	require.Equal(t, http.StatusOK, b.click(`#profiles + ul a`))
	b.await(hasBox("sumOfCubes"))
	grown := eval[string](b, `(() => {
		const box = [...document.querySelectorAll("#stack-chart .boxbg")].find(box => box.textContent.includes("sumOfCubes"))
		return [...box.querySelectorAll("*")].map(e => e.className + " " + getComputedStyle(e).backgroundColor).join(", ")
	})()`)
	require.Contains(t, grown, "positive")
	require.NotContains(t, grown, "negative")
	b.shoot("compare-flame")
	require.Equal(t, http.StatusOK, b.click("#about a"), "back to the comparison")
	require.Equal(t, srv.URL()+"/debug/pprof/runs/compare?new="+long+"&old=before", b.address())

	// One run, and its profiles.
	require.Equal(t, http.StatusOK, b.visit(srv.URL()+"/debug/pprof/runs/before/"))
	b.shoot("run")
	require.Equal(t, http.StatusOK, b.click(`#profiles + ul a`))
	b.await(hasBox("sumOfSquares"))
	require.Equal(t, http.StatusOK, b.click("#about a"))
	require.Equal(t, srv.URL()+"/debug/pprof/runs/before/", b.address())
	b.clean()
}
