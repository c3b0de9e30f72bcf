package browsertest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling"
)

// shelf has two runs, of which the second does something more.
type shelf struct {
	runs     []profiling.SavedRun
	profiles map[string]profiling.Profiles // by run
}

func (s *shelf) ListRuns() ([]profiling.SavedRun, error) { return s.runs, nil }

func (s *shelf) Run(name string) (*profiling.RunDetails, error) {
	for _, r := range s.runs {
		if r.Name == name {
			return &profiling.RunDetails{
				SavedRun: r,
				Notes:    []string{"seed 1, 6 x 200ms after 50ms of warm-up, serializable", "closed loop: latencies exclude queueing"},
				Results: profiling.Table{
					Columns: []string{"workload", "threads", "engine", "ops/s", "±", "ns/op", "p50", "p99", "p99.9", "aborts/op", "allocs/op", "vs first"},
					Rows: [][]string{
						{"Sums", "2", "squares", "512k", "2 %", "1972", "1.31 µs", "5.01 µs", "26.5 µs", "0.0001829", "2.09", ""},
						{"", "", "cubes", "5.75M", "1 %", "174", "180 ns", "406 ns", "908 ns", "0", "0", "11.22 x"},
					},
				},
				Caption: "Medians.",
			}, nil
		}
	}
	return nil, profiling.ErrNoRun
}

func (s *shelf) CompareRuns(before, after string) (*profiling.RunComparison, error) {
	row := func(name, before, after, change, verdict string) profiling.ComparisonRow {
		return profiling.ComparisonRow{Name: name, Old: before, OldRange: "± 2%", New: after, NewRange: "± 1%", Change: change, Test: "p=0.002 n=6", Verdict: verdict}
	}
	return &profiling.RunComparison{
		Old: before, New: after, Method: "medians",
		Warnings: []string{"cpu: one in " + before + ", another in " + after},
		Tables: []profiling.ComparisonTable{{Unit: "ops/s", Better: "higher", Rows: []profiling.ComparisonRow{
			row("Sums/engine=squares/threads=2", "512.2k", "256.1k", "-50.00%", profiling.Worse),
			row("Sums/engine=cubes/threads=2", "5.746M", "5.750M", "~", ""),
			row("Sums/engine=powers/threads=2", "1.000M", "2.000M", "+100.00%", profiling.Better),
		}}},
	}, nil
}

func (s *shelf) RunProfile(run, file string) ([]byte, error) {
	kind := strings.TrimSuffix(strings.TrimPrefix(file, "sums-squares-threads=2."), ".pb.gz")
	if data := s.profiles[run][kind]; data != nil {
		return data, nil
	}
	return nil, profiling.ErrNoRun
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

func newShelf(t *testing.T) *shelf {
	const squares, cubes = "sumOfSquares", "sumOfCubes"
	s := &shelf{profiles: map[string]profiling.Profiles{
		"before": record(t, func() { runtime.KeepAlive(sumOfSquares(1_000_000)) }, squares),
		"a-long-name-which-goes-on-and-on-to-see-where-it-is-broken-off": record(t, func() {
			runtime.KeepAlive(sumOfSquares(1_000_000) + sumOfCubes(3_000_000))
		}, squares, cubes),
	}}
	for i, name := range []string{"before", "a-long-name-which-goes-on-and-on-to-see-where-it-is-broken-off"} {
		run := profiling.SavedRun{
			Name: name, Started: time.Date(2026, 11, 20+i, 12, 0, 0, 0, time.UTC),
			Workloads: []string{"sums"}, Engines: []string{"squares", "cubes"}, Samples: 12, Outcome: "complete",
			Machine: "a processor, GOMAXPROCS 2, linux/amd64, go1.26",
		}
		for _, kind := range s.profiles[name].Kinds() {
			run.Profiles = append(run.Profiles, profiling.RunProfile{File: "sums-squares-threads=2." + kind + ".pb.gz", Kind: kind, Of: "Sums/engine=squares/threads=2", Size: 9})
		}
		s.runs = append(s.runs, run)
	}
	s.runs = append(s.runs, profiling.SavedRun{Name: "broken", Err: "it makes no sense"})
	return s
}

// The way of a user: two saved runs are chosen, what has changed is read, and a flame
// graph shows what has grown.
func TestRunsAreComparedToTheFlameGraph(t *testing.T) {
	b := open(t)
	shelf := newShelf(t)
	srv := start(t, profiling.Config{Title: "sums", Runs: shelf})
	require.Equal(t, http.StatusOK, b.visit(srv.URL()+"/debug/pprof/"))
	require.Equal(t, http.StatusOK, b.click(`nav a[href="runs/"]`))
	require.Equal(t, srv.URL()+"/debug/pprof/runs/", b.address())
	require.Contains(t, eval[string](b, `document.querySelector("#run-before").innerText`), "sums on squares, cubes")
	require.Contains(t, eval[string](b, `document.querySelector("#run-broken").innerText`), "it makes no sense")
	b.shoot("runs")

	require.Equal(t, http.StatusOK, b.click("#compare button"))
	long := shelf.runs[1].Name
	require.Equal(t, srv.URL()+"/debug/pprof/runs/compare?old=before&new="+long, b.address())
	row := func(class string) string {
		return eval[string](b, fmt.Sprintf(`[...document.querySelectorAll(".changes .row.%s")].map(row => row.innerText).join("|")`, class))
	}
	require.Contains(t, row("down"), "engine=squares")
	require.Contains(t, row("down"), "-50.00%")
	require.Contains(t, row("down"), "✗ worse")
	require.NotContains(t, row("down"), "cubes")
	require.Contains(t, row("up"), "✓ better")
	require.Contains(t, eval[string](b, `document.querySelector("#sum").innerText`), "✗ 1 worse")
	require.Contains(t, eval[string](b, `document.querySelector("#warnings").innerText`), "another in "+long)
	b.shoot("compare")

	// Red has grown: the cubes, which only the second run has.
	require.Equal(t, http.StatusOK, b.click(`#profiles + ul a`))
	require.Equal(t, srv.URL()+"/debug/pprof/runs/"+long+"/sums-squares-threads=2.cpu.pb.gz/minus/before/sums-squares-threads=2.cpu.pb.gz/flamegraph", b.address())
	b.await(`[...document.querySelectorAll("#stack-chart .boxtext")].some(box => box.textContent.includes("sumOfCubes"))`)
	grown := eval[string](b, `(() => {
		const box = [...document.querySelectorAll("#stack-chart .boxbg")].find(box => box.textContent.includes("sumOfCubes"))
		return [...box.querySelectorAll("*")].map(e => e.className + " " + getComputedStyle(e).backgroundColor).join(", ")
	})()`)
	require.Contains(t, grown, "positive")
	require.NotContains(t, grown, "negative")
	b.shoot("compare-flame")
	require.Equal(t, http.StatusOK, b.click(".title a"), "back to the comparison")
	require.Equal(t, srv.URL()+"/debug/pprof/runs/compare?new="+long+"&old=before", b.address())

	// One run, and its profiles.
	require.Equal(t, http.StatusOK, b.visit(srv.URL()+"/debug/pprof/runs/before/"))
	require.Contains(t, eval[string](b, `document.querySelector("#results").innerText`), "512k")
	b.shoot("run")
	require.Equal(t, http.StatusOK, b.click(`#profiles + ul a`))
	b.await(`[...document.querySelectorAll("#stack-chart .boxtext")].some(box => box.textContent.includes("sumOfSquares"))`)
	require.Equal(t, http.StatusOK, b.click(".title a"))
	require.Equal(t, srv.URL()+"/debug/pprof/runs/before/", b.address())
	b.clean()
}

// The pages of runs are no wider than a screen, light or dark, and can be read.
func TestRunPagesFit(t *testing.T) {
	b := open(t)
	shelf := newShelf(t)
	srv := start(t, profiling.Config{Title: "sums", Runs: shelf})
	long := shelf.runs[1].Name
	for i, page := range []string{"", "before/", long + "/", "compare?old=before&new=" + long, "compare?old=before&new=before"} {
		for _, width := range []int64{320, 390, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				b.screen(width, scheme, mobile(width)...)
				b.visit(srv.URL() + "/debug/pprof/runs/" + page)
				require.Equal(t, width, eval[int64](b, "document.documentElement.scrollWidth"), page)
				require.Greater(t, eval[float64](b, contrast), 7.0)
				if width != 320 {
					b.shoot(fmt.Sprintf("runs-%d-%d-%s", i, width, scheme))
				}
			}
		}
	}
}
