package results

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"
)

func benchText(t *testing.T, r *Run) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WriteBench(&b, r))
	return b.String()
}

// Two runs that differ in everything volatile are compared by the real benchstat in
// one table for each unit, and the engines of one run beside each other; an instrumented one is
// kept apart from a plain one.
func TestBenchstatMakesOneTableForEachUnit(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, r *Run) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(benchText(t, r)), 0o600))
		return file
	}
	before := testRun(t, 6, 1e6)
	after := testRun(t, 6, 2e6)
	after.Header.Program, after.Header.Args, after.Header.Go = "mvccbench v2.0.0",
		[]string{"--seed=8"}, "go1.27.0"
	after.Header.Started, after.Header.Seed = time.Now(), 8
	after.Header.Settings, after.Header.Notes = nil, nil
	after.Header.ClockCost, after.Header.Skips = 50, nil
	after.Outcome = Outcome{Kind: Interrupted, Done: len(after.Samples), Of: 100}
	after.Samples[3].Interrupted = true

	benchstat := func(files ...string) string {
		out, err := exec.CommandContext(t.Context(), "go", append([]string{"tool", "benchstat"},
			files...)...).CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	a := write("a.txt", before)
	out := benchstat(a, write("b.txt", after))
	require.Equal(t, 1, strings.Count(out, "goos:"), "the tables are split:\n%s", out)
	for _, unit := range Units(before.Samples) {
		_, tidy := benchunit.Tidy(1, unit)
		require.Len(t, regexp.MustCompile(`(?m)│ +`+regexp.QuoteMeta(tidy)+` +│ +`+regexp.QuoteMeta(tidy)+` +vs base`).FindAllString(out, -1), 1,
			"unit %s:\n%s", tidy, out)
	}
	require.Regexp(t, `Balanced/keys=10/engine=mvcc/threads=1-2 +1\.025M ± 2% +2\.050M ± 2% +\+100\.00% \(p=0\.002 n=6\)`, out)

	out = benchstat("-col", "/engine", a)
	require.Regexp(t, `│ +mvcc +│ +rwmutex +│`, out)
	require.Regexp(t, `Balanced/keys=10/threads=1\S* .*±.*±.*n=6`, out)

	after.Header.Instrumented = "execution trace"
	out = benchstat(a, write("c.txt", after))
	require.NotContains(t, out, "p=0.002", "they are not compared:\n%s", out)
	require.Contains(t, out, "instrumented: execution trace")
}

func TestBenchFormat(t *testing.T) {
	r := testRun(t, 1, 1e6)
	r.Outcome = Outcome{Kind: Violated, Detail: "verification violated:\na key is lost", Done: 4,
		Of: 9}
	text := benchText(t, r)
	for _, want := range []string{
		"# mvccbench run --threads=1,2\n", "# mvccbench v1.2.3; go1.26.8; 2026-11-21T16:00:00Z\n",
		"# GOMAXPROCS 2 of 4 CPUs, GOGC=50\n",
		"# seed 7, 1 x 2s after 1s of warm-up, serializable\n",
		"# closed loop: latencies exclude queueing and include one reading of the clock, 40ns\n",
		"# a note\n", "# skipped: transfer on xsync: it cannot\n", "cpu: A Processor: 3 GHz\n",
		"\n# verification violated:\n# a key is lost\n# the samples above were verified; the run ended " +
			"here, after 4 of 9\n",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "Unit response-", "nothing has such figures")
	var keys []string
	scan := benchfmt.NewReader(strings.NewReader(text), "")
	for scan.Scan() {
		switch rec := scan.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Fatal(rec)
		case *benchfmt.Result:
			keys = keys[:0]
			for _, c := range rec.Config {
				keys = append(keys, c.Key)
			}
		}
	}
	require.Equal(t, []string{"goos", "goarch", "pkg", "cpu"}, keys)

	r.Header.Rates, r.Header.Loop, r.Header.Ops = []float64{1000}, "poisson arrivals", 5
	r.Header.Instrumented = "execution trace"
	r.Outcome = Outcome{Kind: Failed, Detail: "no\nroom", Done: 4, Of: 9}
	r.Samples[1].Interrupted = true
	r.Samples[3].Metrics["response-p99-ns"] = 5
	text = benchText(t, r)
	require.Contains(t, text, "# seed 7, 1 x 5 operations after 1s")
	require.Contains(t, text, "# open loop, poisson arrivals: response times count from when an "+
		"operation was due;")
	require.Contains(t, text, "Unit response-p99-ns better=lower\n")
	require.Equal(t, 1, strings.Count(text, "Unit ops/s better=higher\n"))
	require.Contains(t, text, "# INSTRUMENTED: execution trace;")
	require.Contains(t, text, "\ninstrumented: execution trace\n")
	require.Contains(t, text, "# interrupted: the next sample ran 1s of 2s\n")
	require.Contains(t, text, "\n# failed after 4 of 9 samples: no\n# room\n")
}

// broken is a writer that takes so many bytes and no more.
type broken struct{ left int }

var errFull = errors.New("no space left")

func (b *broken) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWritingFails(t *testing.T) {
	r := testRun(t, 2, 1e6)
	for name, write := range map[string]func() error{
		"bench": func() error { return WriteBench(&broken{1000}, r) },
		"json":  func() error { return Write(&broken{100}, r) },
	} {
		require.ErrorIs(t, write(), errFull, name)
	}
}

func TestMetrics(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Metrics() {
		require.False(t, seen[m.Unit], m.Unit)
		seen[m.Unit] = true
		require.Contains(t, []string{"lower", "higher"}, m.Better)
		require.NotEmpty(t, m.Doc)
		require.NotEmpty(t, m.How)
		require.NotContains(t, m.Unit, " ")
		got, ok := MetricByUnit(m.Unit)
		require.True(t, ok)
		require.Equal(t, m, got)
	}
	require.Equal(t, []string{"ns/op", "ops/s", "allocs/op", "a/b", "c/d"}, Units([]Sample{
		{Metrics: map[string]float64{"c/d": 1, "allocs/op": 0}},
		{Metrics: map[string]float64{"a/b": 1, "ops/s": 1, "ns/op": 1}}}))

	m := Metric{Digits: 2}
	require.Equal(t, "1.5", m.Format(1.5))
	require.Equal(t, "1.46", m.Format(1.456))
	require.Equal(t, "100", m.Format(100))
	m.Digits = -1
	for want, v := range map[string]float64{"0": 0, "1.457": 1.45678, "0.0001457": 0.000145678,
		"145678": 145678, "14.57": 14.5678, "0.000000001": 0.00000000123} {
		require.Equal(t, want, m.Format(v))
	}
	require.Equal(t, 1.457, m.Round(1.45678))
}
