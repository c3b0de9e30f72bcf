package cli

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
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

	var c struct {
		Tables []struct {
			Rows []struct{ Name, Old, New, Change string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(fetch(url+"compare?old=before&new=after&format=json")),
		&c))
	_, text, _ := call(t, "compare", "before", "after")
	require.NotEmpty(t, c.Tables)
	for _, table := range c.Tables {
		for _, r := range table.Rows {
			require.Regexp(t, regexp.QuoteMeta(r.Name)+` +`+regexp.QuoteMeta(r.Old)+` .*`+
				regexp.QuoteMeta(r.New)+` .*`+regexp.QuoteMeta(r.Change), text)
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
