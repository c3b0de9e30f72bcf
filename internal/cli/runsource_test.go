package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/results"
	"github.com/mvccmap/mvccmap/profiling"
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

// Runs of the store are listed, compared and opened in the browser, as on the
// command line.
func TestRunsInTheBrowser(t *testing.T) {
	store := keepRuns(t)
	require.NoError(t, store.SaveProfiled("before", madeUp(t, 6, 2e6), map[string][]byte{"begin-mvcc-threads=4.cpu.pb.gz": cpuProfile(t, 10)}))
	slower := madeUp(t, 6, 1e6)
	slower.Header.Started = slower.Header.Started.Add(time.Hour)
	slower.Header.CPU = "another processor"
	slower.Header.Instrumented = "a trace"
	slower.Outcome = results.Outcome{Kind: results.Interrupted, Done: 12, Of: 20}
	require.NoError(t, store.SaveProfiled("after", slower, map[string][]byte{
		"whole-run.cpu.pb.gz": cpuProfile(t, 1), "begin-mvcc-threads=4.cpu.pb.gz": cpuProfile(t, 35), "z.odd.pb.gz": nil,
	}))
	require.NoError(t, os.WriteFile(store.Path("broken"), []byte("{}"), 0o600))

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout, stderr lines
	code := make(chan int, 1)
	go func() { code <- Run(ctx, []string{"runs", "serve", "--http=127.0.0.1:0"}, &stdout, &stderr) }()
	url := stderr.await(t, `runs: (http://\S+/debug/pprof/runs/)\n`)

	list := fetch(url)
	for _, want := range []string{
		`id="run-before"`, `id="run-broken"`, "begin on mvcc, rwmutex", "! instrumented: a trace", "! interrupted after 12 of 20 samples",
		"12 samples, complete", "3 profiles", "a processor, GOMAXPROCS 2", "cannot be read",
	} {
		require.Contains(t, list, want)
	}
	require.Less(t, strings.Index(list, `id="run-after"`), strings.Index(list, `id="run-before"`), "the newest first")

	run := fetch(url + "after/")
	require.Regexp(t, `(?s)The whole run.*Begin/engine=mvcc/threads=4<.*begin-mvcc-threads=4.cpu.pb.gz/flamegraph">cpu<.*z.odd.pb.gz`, run)
	require.Contains(t, run, "INSTRUMENTED: a trace")
	require.Contains(t, run, "<td>rwmutex</td><td>3.00M</td>")

	compared := fetch(url + "compare?old=before&new=after")
	for _, want := range []string{
		"! cpu: a processor in before, another processor in after", "! before is plain, after is instrumented (a trace)",
		"! after: interrupted after 12 of 20 samples", "higher is better", "-50.00%", "p=0.002 n=6", "✗ worse", "± 2%",
		"Zero on both sides: aborts/op", "geomean",
	} {
		require.Contains(t, compared, want)
	}
	// The figures are those of the command.
	var c profiling.RunComparison
	require.NoError(t, json.Unmarshal([]byte(fetch(url+"compare?old=before&new=after&format=json")), &c))
	_, text, _ := call(t, "compare", "before", "after", "--force")
	for _, table := range c.Tables {
		for _, r := range table.Rows {
			require.Regexp(t, regexp.QuoteMeta(r.Name)+` +`+regexp.QuoteMeta(r.Old)+` .*`+regexp.QuoteMeta(r.New)+` .*`+regexp.QuoteMeta(r.Change), text)
		}
	}
	require.Equal(t, profiling.Worse, c.Tables[1].Rows[0].Verdict)

	diff := fetch(url + "after/begin-mvcc-threads=4.cpu.pb.gz/minus/before/begin-mvcc-threads=4.cpu.pb.gz/top")
	require.Contains(t, diff, `"Name":"main.work","InlineLabel":"","Flat":25,`)
	require.Contains(t, fetch(url+"after/z.odd.pb.gz/top"), "cannot be read")

	// What is saved or deleted meanwhile shows at once.
	require.NoError(t, store.Save("later", madeUp(t, 1, 1)))
	require.NoError(t, store.Remove("before"))
	list = fetch(url)
	require.Contains(t, list, `id="run-later"`)
	require.NotContains(t, list, `id="run-before"`)
	require.Contains(t, fetch(url+"before/"), "no run of that name is saved")

	cancel()
	require.Equal(t, ExitOK, <-code, stderr.String())
}

// Names are never taken for paths, whoever asks.
func TestRunSourceTakesNoPaths(t *testing.T) {
	store := keepRuns(t)
	require.NoError(t, store.SaveProfiled("x", madeUp(t, 1, 1e6), map[string][]byte{"a.cpu.pb.gz": nil}))
	outside := filepath.Dir(store.Dir())
	require.NoError(t, os.Mkdir(filepath.Join(outside, "y"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret.pb.gz"), []byte("secret"), 0o600))
	require.NoError(t, os.Link(store.Path("x"), filepath.Join(outside, "x.json")))
	s := runSource()
	for _, name := range []string{"../x", "..", ".", "", "/x", `..\x`, outside + "/x", "x/../../x", "x\x00", "-x"} {
		_, err := s.Run(name)
		require.ErrorIs(t, err, profiling.ErrNoRun, name)
		_, err = s.CompareRuns(name, "x")
		require.ErrorIs(t, err, profiling.ErrNoRun, name)
		_, err = s.CompareRuns("x", name)
		require.ErrorIs(t, err, profiling.ErrNoRun, name)
		_, err = s.RunProfile(name, "a.cpu.pb.gz")
		require.ErrorIs(t, err, profiling.ErrNoRun, name)
		_, err = s.RunProfile("x", name)
		require.ErrorIs(t, err, profiling.ErrNoRun, name)
	}
	for _, file := range []string{"../secret.pb.gz", "../../secret.pb.gz", "x.json", "../x.json"} {
		_, err := s.RunProfile("x", file)
		require.ErrorIs(t, err, profiling.ErrNoRun, file)
	}
	_, err := s.RunProfile("x", "a.cpu.pb.gz")
	require.NoError(t, err)
}

// A list reads what has changed, and nothing else.
func TestRunSourceRemembers(t *testing.T) {
	store := keepRuns(t)
	s := runSource()
	list, err := s.ListRuns()
	require.NoError(t, err)
	require.Empty(t, list)
	require.NoError(t, store.Save("x", madeUp(t, 1, 1e6)))
	list, err = s.ListRuns()
	require.NoError(t, err)
	require.Equal(t, 2, list[0].Samples)
	// The same size and time: it is taken for the same.
	info, err := os.Stat(store.Path("x"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(store.Path("x"), bytes.Repeat([]byte("?"), int(info.Size())), 0o600))
	require.NoError(t, os.Chtimes(store.Path("x"), info.ModTime(), info.ModTime()))
	list, err = s.ListRuns()
	require.NoError(t, err)
	require.Empty(t, list[0].Err)
	require.NoError(t, os.Chtimes(store.Path("x"), info.ModTime(), info.ModTime().Add(time.Second)))
	list, err = s.ListRuns()
	require.NoError(t, err)
	require.NotEmpty(t, list[0].Err)
}

func TestRunsServeWrongArguments(t *testing.T) {
	keepRuns(t)
	for arg, want := range map[string]string{
		"--http=off":       "--http: expected an address",
		"--http=0.0.0.0:0": tokenVariable,
	} {
		code, stdout, stderr := call(t, "runs", "serve", arg)
		require.Equal(t, ExitUsage, code, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, want)
	}
}
