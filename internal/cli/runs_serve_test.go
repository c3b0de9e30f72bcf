package cli

import (
	"bytes"
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/results"
)

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

func TestRunsServeWrongArguments(t *testing.T) {
	keepRuns(t)
	for arg, want := range map[string]string{
		"--http=off":       "--http: expected an address",
		"--http=0.0.0.0:0": tokenVariable,
	} {
		refused(t, []string{"runs", "serve", arg}, want)
	}
}
