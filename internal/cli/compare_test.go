package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/results"
)

// A run that became slower: the gate says what, and by how much, and exits with 1.
func TestCompareAndGate(t *testing.T) {
	store := keepRuns(t)
	require.NoError(t, store.Save("before", madeUp(t, 6, 2e6)))
	slower := madeUp(t, 6, 1e6)
	file := writeFile(t, "after.txt", func(b *bytes.Buffer) error {
		return results.WriteBench(b, slower)
	})

	stdout, stderr := succeed(t, "compare", "before", file, "--unit=ops/s,p99-ns")
	require.Empty(t, stderr)
	require.True(t, strings.HasPrefix(stdout,
		"ops/s: 0 better, 1 worse, 1 neither\np99-sec: no significant difference\n\nops/s (higher is "+
			"better)\n"), stdout)
	require.Regexp(t, `(?m)^Begin/engine=mvcc/threads=4-2 +2\.050M +± 2% +1\.025M +± 2% +-50\.00% +p=0\.002 n=6 +worse$`, stdout)
	require.Regexp(t, `(?m)^Begin/engine=rwmutex/threads=4-2 .* ~ +p=1\.000 n=6$`, stdout)
	require.Regexp(t, `(?m)^geomean .* -29\.29%$`, stdout)
	require.Contains(t, stdout, "p99-sec (lower is better)\n")

	code, stdout, stderr := call(t, "compare", "before", file, "--gate", "--unit=ops/s")
	require.Equal(t, ExitFailed, code)
	require.True(t, strings.HasPrefix(stdout,
		"gate: FAILED: 1 of 2 comparisons of ops/s are worse by more than 10 % and the range of the "+
			"samples\n"), stdout)
	require.Contains(t, stderr, "worse: ops/s, Begin/engine=mvcc/threads=4-2: 2.050M to 1.025M, "+
		"-50.00% (p=0.002 n=6)\n")
	require.Contains(t, stderr, "gate: 1 of 2 comparisons are worse by more than 10 %")

	for _, pass := range [][]string{
		{"before", file, "--gate", "--gate-pct=45.2"},                  // the samples range over 4.9 %
		{file, "before", "--unit=ops/s", "--gate"},                     // faster
		{"before", "before", "--unit=ops/s", "--gate", "--gate-pct=0"}, // the same
		{"before", file, "--unit=aborts/op", "--gate"},
	} {
		stdout, stderr = succeed(t, append([]string{"compare"}, pass...)...)
		require.True(t, strings.HasPrefix(stdout, "gate: passed: none of 2 comparisons of "), stdout)
		require.Empty(t, stderr)
		stdout, stderr = succeed(t, append([]string{"compare", "--format=csv"}, pass...)...)
		require.NotContains(t, stdout, "gate")
		require.Contains(t, stderr, "gate: passed: ")
	}
	_, stdout, stderr = call(t, "compare", "before", file)
	require.Contains(t, stdout, "zero on both sides: aborts/op\n")
	require.Empty(t, stderr)
}

func TestCompareFormats(t *testing.T) {
	store := keepRuns(t)
	require.NoError(t, store.Save("a", madeUp(t, 6, 2e6)))
	more := madeUp(t, 6, 1e6)
	more.Samples[11].Engine = "xsync"
	require.NoError(t, store.Save("b", more))

	_, stdout, _ := call(t, "compare", "a", "b", "--format=json")
	var c results.Comparison
	require.NoError(t, json.Unmarshal([]byte(stdout), &c))
	require.Equal(t, "a", c.Old)
	require.Equal(t, results.Worsened, c.Tables[0].Rows[0].Verdict)
	require.InDelta(t, 100, *c.Tables[0].Rows[0].DeltaPct, 1e-6)
	require.Equal(t, []string{"Begin/engine=xsync/threads=4-2"}, c.OnlyNew)

	file := filepath.Join(t.TempDir(), "c.csv")
	stdout, _ = succeed(t, "compare", "a", "b", "--format=csv", "-o", file)
	require.Empty(t, stdout)
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	lines, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	require.NoError(t, err)
	require.Len(t, lines, 1+4*2)
	require.Equal(t, []string{"sec/op", "lower", "Begin/engine=mvcc/threads=4-2"}, lines[1][:3])
	require.Equal(t, "worse", lines[1][14])

	_, stdout, _ = call(t, "compare", "a", "b")
	require.Contains(t, stdout, "\nonly in b:\n  Begin/engine=xsync/threads=4-2\n")
}

func TestCompareTooFewSamples(t *testing.T) {
	store := keepRuns(t)
	require.NoError(t, store.Save("a", madeUp(t, 3, 2e6)))
	require.NoError(t, store.Save("b", madeUp(t, 3, 1e6)))
	stdout, stderr := succeed(t, "compare", "a", "b")
	require.NotContains(t, stdout, "worse")
	require.Contains(t, stderr, "too few samples for any difference to be significant; 4 on each "+
		"side are enough")
	code, stdout, stderr := call(t, "compare", "a", "b", "--gate")
	require.Equal(t, ExitUsage, code, "a gate that lets everything pass")
	require.Empty(t, stdout)
	require.Contains(t, stderr, "--gate: ")
	require.Contains(t, stderr, "at least 5 samples")
	for alpha, n := range map[float64]int{0.5: 2, 0.05: 4, 0.01: 5, 0.001: 7} {
		require.Equal(t, n, results.SamplesFor(alpha))
	}
}

// Without --unit throughput is judged, whatever else has become worse; with it what it names.
func TestGateJudgesTheHeadline(t *testing.T) {
	store := keepRuns(t)
	require.NoError(t, store.Save("a", madeUp(t, 6, 2e6)))
	slow := madeUp(t, 6, 2e6)
	for i := range slow.Samples {
		slow.Samples[i].Metrics["p99-ns"] *= 10
	}
	require.NoError(t, store.Save("b", slow))
	stdout, _ := succeed(t, "compare", "a", "b", "--gate")
	require.Contains(t, stdout, "gate: passed: none of 2 comparisons of ops/s ")
	require.Contains(t, stdout, "p99-sec: 0 better, 2 worse, 0 neither\n", "it is said all the same")
	code, _, stderr := call(t, "compare", "a", "b", "--gate", "--unit=ops/s,p99-ns")
	require.Equal(t, ExitFailed, code)
	require.Contains(t, stderr, "gate: 2 of 4 comparisons are worse")
}

// On a terminal the verdicts have colours.
func TestCompareHasColours(t *testing.T) {
	require.Equal(t, "a  \x1b[32mbetter\x1b[m\nb  \x1b[31mworse\x1b[m\nc  ~\n",
		painted("a  better\nb  worse\nc  ~\n", true))
	require.Equal(t, "a  better\n", painted("a  better\n", false))
}

// A run that was cut short does not pass the gate: what it did not get to may be
// worse. What is missing on the new side is said.
func TestGateAndCutShort(t *testing.T) {
	store := keepRuns(t)
	whole := madeUp(t, 6, 1e6)
	require.NoError(t, store.Save("whole", whole))
	for _, kind := range []string{results.Interrupted, results.Failed, results.Violated} {
		cut := madeUp(t, 6, 2e6) // faster
		cut.Outcome = results.Outcome{Kind: kind, Detail: "why", Done: len(cut.Samples), Of: 100}
		require.NoError(t, store.Save("cut", cut))
		file := writeFile(t, "cut.txt", func(b *bytes.Buffer) error { return results.WriteBench(b, cut) })
		for _, args := range [][]string{{"whole", "cut"}, {"whole", file},
			{"cut", "whole", "--gate-pct=60"}} {
			args = append([]string{"compare", "--unit=ops/s", "--gate"}, args...)
			code, stdout, stderr := call(t, args...)
			require.Equal(t, ExitFailed, code, "%v: %s", args, stderr)
			require.NotEmpty(t, stdout, "the comparison is printed all the same")
			require.Contains(t, stderr, "gate: a run that did not come to its end does not pass: ", args)
			require.True(t, strings.HasPrefix(stdout, "gate: FAILED: "), stdout)
		}
		_, stderr := succeed(t, "compare", "--unit=ops/s", "whole", "cut")
		require.Contains(t, stderr, "note: cut: ")
	}
	less := madeUp(t, 6, 1e6)
	less.Samples = slices.DeleteFunc(less.Samples, func(s results.Sample) bool {
		return s.Engine == "rwmutex"
	})
	less.Outcome = results.Outcome{Kind: results.Complete, Done: len(less.Samples),
		Of: len(less.Samples)}
	require.NoError(t, store.Save("less", less))
	_, stderr := succeed(t, "compare", "--unit=ops/s", "--gate", "whole", "less")
	require.Contains(t, stderr, "note: 1 benchmarks of whole are not in less, and are not judged\n")
}

// Standard input can be one side, or what is drawn.
func TestStandardInput(t *testing.T) {
	store := keepRuns(t)
	kept := madeUp(t, 6, 1e6)
	require.NoError(t, store.Save("a", kept))
	bench, record := new(bytes.Buffer), new(bytes.Buffer)
	require.NoError(t, results.WriteBench(bench, kept))
	require.NoError(t, results.Write(record, kept))
	for _, in := range []*bytes.Buffer{bench, record} {
		charts := filepath.Join(t.TempDir(), "charts.html")
		for _, args := range [][]string{{"compare", "a", "-"}, {"compare", "-", "a"},
			{"report", "-", "--report", charts}} {
			var out, errs lines
			code := run(&env{Program: mvccbench(), ctx: t.Context(), stdin: bytes.NewReader(in.Bytes()),
				stdout: &out, stderr: &errs, args: args})
			require.Equal(t, ExitOK, code, errs.String())
			require.Empty(t, errs.String())
			if args[0] == "compare" {
				require.Contains(t, out.String(), "standard input")
				require.Contains(t, out.String(), "p=1.000 n=6")
			}
		}
		page, err := os.ReadFile(charts)
		require.NoError(t, err)
		require.Contains(t, string(page), "Begin: throughput")
		require.NotContains(t, string(page), `datetime="0001`, "a date that is not known")
	}
	for _, args := range [][]string{{"compare", "-", "-"}, {"compare", "a", "-"},
		{"report", "-", "--report", t.TempDir()}} {
		var out, errs lines
		code := run(&env{Program: mvccbench(), ctx: t.Context(), stdin: strings.NewReader("x"),
			stdout: &out, stderr: &errs, args: args})
		require.Equal(t, ExitUsage, code, args)
		require.Empty(t, out.String())
		require.Contains(t, errs.String(), "standard input")
	}
}

func TestCompareInstrumented(t *testing.T) {
	store := keepRuns(t)
	require.NoError(t, store.Save("plain", madeUp(t, 6, 2e6)))
	r := madeUp(t, 6, 1e6)
	r.Header.Instrumented = "a trace"
	require.NoError(t, store.Save("traced", r))
	code, stdout, stderr := call(t, "compare", "plain", "traced")
	require.Equal(t, ExitUsage, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "plain is plain, traced is instrumented (a trace); --force")
	stdout, stderr = succeed(t, "compare", "plain", "traced", "--force")
	require.Contains(t, stdout, "worse")
	require.Contains(t, stderr, "note: plain is plain, traced is instrumented (a trace)")
}

func TestCompareWrongArguments(t *testing.T) {
	store := keepRuns(t)
	require.NoError(t, store.Save("a", madeUp(t, 6, 2e6)))
	for _, c := range []struct {
		args string
		want []string
	}{
		{"a", []string{"<new>"}},
		{"a nosuch", []string{"no file nosuch", "no run is saved", store.Dir(), "mvccbench runs"}},
		{"no/such/file.txt a", []string{"no file no/such/file.txt"}},
		{"a a --unit=ops/h", []string{"--unit", "ops/h", "ops/s"}},
		{"a a --alpha=0", []string{"--alpha", "between 0 and 1"}},
		{"a a --alpha=NaN", []string{"--alpha"}},
		{"a a --gate-pct=1", []string{"--gate-pct: expected --gate"}},
		{"a a --gate --gate-pct=-1", []string{"--gate-pct", "0 or more"}},
		{"a a --gate --gate-pct=Inf", []string{"--gate-pct"}},
		{"a a --format=xml", []string{"--format", "text", "csv", "json"}},
		{"a a --output=" + t.TempDir(), []string{"--output"}},
	} {
		refused(t, append([]string{"compare"}, strings.Fields(c.args)...), c.want...)
	}
	code, _, stderr := call(t, "compare", "a", "a", "--output=/dev/full")
	if _, err := os.Stat("/dev/full"); err == nil {
		require.Equal(t, ExitFailed, code, stderr)
	}
}
