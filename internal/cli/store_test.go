package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/results"
)

// Runs are saved, listed, compared, drawn and deleted by name.
func TestSavedRuns(t *testing.T) {
	store := keepRuns(t)
	code, stdout, stderr := call(t, "runs")
	require.Equal(t, ExitOK, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "no runs are saved in "+store.Dir())

	charts := filepath.Join(t.TempDir(), "charts.html")
	for _, name := range []string{"before", "after"} {
		code, _, stderr := call(t, quick("--workload=begin", "--engine=rwmutex", "--count=4", "--save="+name, "--report="+charts)...)
		require.Equal(t, ExitOK, code, stderr)
		require.Contains(t, stderr, "saved as "+name+" in "+store.Dir())
		require.Contains(t, stderr, "charts: "+charts)
	}

	_, stdout, _ = call(t, "runs", "list")
	require.Regexp(t, `(?m)^before +\d{4}-\d\d-\d\d \d\d:\d\d +8 +complete +- +begin on rwmutex$`, stdout)
	code, stdout, stderr = call(t, "compare", "before", "after")
	require.Equal(t, ExitOK, code, stderr)
	require.Contains(t, stdout, "Begin/engine=rwmutex/threads=2")

	again := filepath.Join(t.TempDir(), "again.html")
	code, stdout, stderr = call(t, "report", "before", "--report="+again)
	require.Equal(t, ExitOK, code, stderr)
	require.Equal(t, again+"\n", stdout)
	page, err := os.ReadFile(again)
	require.NoError(t, err)
	require.Contains(t, string(page), "Begin: throughput")

	code, _, stderr = call(t, "runs", "rm", "before", "nosuch")
	require.Equal(t, ExitUsage, code)
	require.Contains(t, stderr, "nosuch")
	require.True(t, store.Has("before"), "all or nothing")
	code, _, stderr = call(t, "runs", "rm", "before", "after")
	require.Equal(t, ExitOK, code, stderr)
	require.False(t, store.Has("before"))
	code, _, stderr = call(t, "runs", "rm", "../x")
	require.Equal(t, ExitUsage, code)
	require.Contains(t, stderr, "letters, digits")
}

func TestRunsListsWhatCannotBeRead(t *testing.T) {
	store := keepRuns(t)
	r := madeUp(t, 2, 1e6)
	r.Header.Instrumented = "a trace"
	r.Outcome = results.Outcome{Kind: results.Interrupted, Done: 4, Of: 9}
	require.NoError(t, store.Save("traced", r))
	require.NoError(t, os.WriteFile(store.Path("broken"), []byte("{}"), 0o600))
	code, stdout, stderr := call(t, "runs")
	require.Equal(t, ExitOK, code, stderr)
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
		{[]string{file, "--report=" + filepath.Join(t.TempDir(), "x")}, "result X: its name has no engine= and threads="},
		{[]string{"empty", "--report=" + filepath.Join(t.TempDir(), "x")}, "no samples"},
		{[]string{"a", "--report=" + t.TempDir()}, "--report: expected a file"},
	} {
		code, stdout, stderr := call(t, append([]string{"report"}, c.args...)...)
		require.Equal(t, ExitUsage, code, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, c.want)
	}
}
