package cli

import (
	"bytes"
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/results"
)

// Runs are saved, listed, compared, drawn and deleted by name.
func TestSavedRuns(t *testing.T) {
	store := keepRuns(t)
	stdout, stderr := succeed(t, "runs")
	require.Empty(t, stdout)
	require.Contains(t, stderr, "no runs are saved in "+store.Dir())

	charts := filepath.Join(t.TempDir(), "charts.html")
	for _, name := range []string{"before", "after"} {
		_, stderr := succeed(t, quick("--workload=begin", "--engine=rwmutex", "--count=4",
			"--save="+name, "--report="+charts)...)
		require.Contains(t, stderr, "saved as "+name+" in "+store.Dir())
		require.Contains(t, stderr, "charts: "+charts)
	}

	_, stdout, _ = call(t, "runs", "list")
	require.Regexp(t, `(?m)^before +\d{4}-\d\d-\d\d \d\d:\d\d +8 +complete +- +begin on rwmutex$`,
		stdout)
	stdout, _ = succeed(t, "compare", "before", "after")
	require.Contains(t, stdout, "Begin/engine=rwmutex/threads=2")

	again := filepath.Join(t.TempDir(), "again.html")
	stdout, _ = succeed(t, "report", "before", "--report="+again)
	require.Equal(t, again+"\n", stdout)
	page, err := os.ReadFile(again)
	require.NoError(t, err)
	require.Contains(t, string(page), "Begin: throughput")

	refused(t, []string{"runs", "rm", "before", "nosuch"}, "nosuch")
	require.True(t, store.Has("before"), "all or nothing")
	succeed(t, "runs", "rm", "before", "after")
	require.False(t, store.Has("before"))
	refused(t, []string{"runs", "rm", "../x"}, "letters, digits")
}

func TestRunsListsWhatCannotBeRead(t *testing.T) {
	store := keepRuns(t)
	r := madeUp(t, 2, 1e6)
	r.Header.Instrumented = "a trace"
	r.Outcome = results.Outcome{Kind: results.Interrupted, Done: 4, Of: 9}
	require.NoError(t, store.Save("traced", r))
	require.NoError(t, os.WriteFile(store.Path("broken"), []byte("{}"), 0o600))
	stdout, _ := succeed(t, "runs")
	require.Regexp(t, `(?m)^traced .* interrupted, instrumented +- +begin on mvcc, rwmutex$`, stdout)
	require.Regexp(t, `(?m)^broken .* unreadable +.*`+regexp.QuoteMeta(store.Path("broken")), stdout)
}

func TestReportWrongArguments(t *testing.T) {
	store := keepRuns(t)
	empty := madeUp(t, 1, 1e6)
	empty.Samples, empty.Outcome = nil, results.Outcome{Kind: results.Interrupted, Of: 3}
	require.NoError(t, store.Save("empty", empty))
	require.NoError(t, store.Save("a", madeUp(t, 1, 1e6)))
	file := filepath.Join(t.TempDir(), "bench.txt")
	require.NoError(t, os.WriteFile(file, []byte("BenchmarkX 1 2 ns/op\n"), 0o600))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"a"}, "--report"},
		{[]string{"nosuch", "--report=" + filepath.Join(t.TempDir(), "x")}, "no file nosuch"},
		{[]string{file, "--report=" + filepath.Join(t.TempDir(), "x")},
			"result X: its name has no engine= and threads="},
		{[]string{"empty", "--report=" + filepath.Join(t.TempDir(), "x")}, "no samples"},
		{[]string{"a", "--report=" + t.TempDir()}, "--report: expected a file"},
	} {
		refused(t, append([]string{"report"}, c.args...), c.want)
	}
}

// cpuProfile is a profile in which a function was seen n times.
func cpuProfile(t *testing.T, n int64) []byte {
	t.Helper()
	f := &profile.Function{ID: 1, Name: "main.work"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f, Line: 5}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1,
		Sample:   []*profile.Sample{{Value: []int64{n}, Location: []*profile.Location{l}}},
		Function: []*profile.Function{f}, Location: []*profile.Location{l},
	}
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	return b.Bytes()
}

// Runs of the store are served in the browser, with the figures that the command prints.
func TestRunsInTheBrowser(t *testing.T) {
	store := keepRuns(t)
	require.NoError(t, store.Save("before", madeUp(t, 6, 2e6)))
	require.NoError(t, store.Save("after", madeUp(t, 6, 1e6)))
	refused(t, []string{"runs", "serve", "--http=off"}, "--http: expected an address")
	s := start(t, "runs", "serve", "--http=127.0.0.1:0")
	url := s.stderr.await(t, `runs: (http://\S+/debug/pprof/runs/)\n`)
	require.Contains(t, fetch(url), `id="run-before"`)

	const compared = "compare?old=before&new=after"
	inJSON, _ := succeed(t, "compare", "before", "after", "--format=json")
	require.JSONEq(t, inJSON, fetch(url+compared+"&format=json"))
	var c results.Comparison
	require.NoError(t, json.Unmarshal([]byte(inJSON), &c))
	text, _ := succeed(t, "compare", "before", "after")
	page := fetch(url + compared)
	require.NotEmpty(t, c.Changed())
	for _, table := range c.Changed() {
		for _, r := range table.All() {
			cells := []string{r.Name, table.Show(r.Old), table.Show(r.New), r.Change(), r.Chances()}
			for i := range cells {
				cells[i] = regexp.QuoteMeta(cells[i])
			}
			words := strings.Join(cells, `.*`)
			require.Regexp(t, words, text)
			require.Regexp(t, `(?s)`+words, html.UnescapeString(page))
		}
	}
	s.stop(t, ExitOK)
}
