package cli

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// A run that became slower: the gate says in which figure, and by how much, and exits with 1.
func TestCompareAndGate(t *testing.T) {
	store := keepRuns(t)
	store.save("before", madeUp(t, 6, 2e6))
	slower := madeUp(t, 6, 1e6)
	file := writeFile(t, "after.txt", func(b *bytes.Buffer) error {
		return results.WriteBench(b, slower)
	})

	stdout, stderr := succeed(t, "compare", "before", file, "--unit=ops/s,p99-ns")
	require.Empty(t, stderr)
	require.True(t, strings.HasPrefix(stdout,
		"ops/s: 0 better, 1 worse, 1 neither\np99-sec: no significant difference\n\nops/s (higher is "+
			"better)\n"), stdout)
	require.Regexp(t, `(?m)^Counter/engine=mvcc/threads=4-2 +2\.050M +± 2% +1\.025M +± 2% +-50\.00% +-51\.4% to -48\.5% +p=0\.002 n=6 +worse$`, stdout)
	require.Regexp(t, `(?m)^Counter/engine=rwmutex/threads=4-2 .* ~ +-0\.0% to \+0\.0% +p=1\.000 n=6$`, stdout)
	require.Regexp(t, `(?m)^geomean .* -29\.29%$`, stdout)
	require.Contains(t, stdout, "p99-sec (lower is better)\n")

	code, stdout, stderr := call(t, "compare", "before", file, "--gate", "--unit=ops/s")
	require.Equal(t, ExitFailed, code)
	require.True(t, strings.HasPrefix(stdout,
		"gate: FAILED: 1 of 2 comparisons of ops/s are worse by more than 10 %\n"), stdout)
	require.Contains(t, stderr, "worse: ops/s, Counter/engine=mvcc/threads=4-2: 2.050M to 1.025M, "+
		"-51.4% to -48.5% (p=0.002 n=6)\n")
	require.Contains(t, stderr, "gate: something is worse: 1 of 2 comparisons of ops/s are worse by ")
	require.Contains(t, stderr, "note: what differs from one run to the next is not in the samples")

	code, stdout, stderr = call(t, "compare", "before", file, "--gate", "--gate-pct=49.9")
	require.Equal(t, ExitCannotTell, code, "the samples range over 4.9 %")
	require.True(t, strings.HasPrefix(stdout, "gate: CANNOT TELL: 1 of 2 comparisons of ops/s may be "+
		"worse by more than 49.9 %, or not\n"), stdout)
	require.Contains(t, stderr, "cannot tell: ops/s, Counter/engine=mvcc/threads=4-2: ")
	require.Contains(t, stderr, "gate: cannot tell: 1 of 2 comparisons of ops/s may be worse")

	for _, pass := range [][]string{
		{"before", file, "--gate", "--gate-pct=52"},
		{file, "before", "--unit=ops/s", "--gate"},     // faster
		{"before", "before", "--unit=ops/s", "--gate"}, // the same
		{"before", file, "--unit=aborts/op", "--gate"},
	} {
		stdout, stderr = succeed(t, append([]string{"compare"}, pass...)...)
		require.True(t, strings.HasPrefix(stdout, "gate: passed: none of 2 comparisons of "), stdout)
		require.Empty(t, stderr)
		stdout, stderr = succeed(t, append([]string{"compare", "--format=json"}, pass...)...)
		require.Contains(t, stdout, `"outcome": "passed"`)
		require.Contains(t, stderr, "gate: passed: ")
	}
	_, stdout, stderr = call(t, "compare", "before", file)
	require.Contains(t, stdout, "zero on both sides: aborts/op\n")
	require.Empty(t, stderr)
}

func TestCompareFormats(t *testing.T) {
	store := keepRuns(t)
	store.save("a", madeUp(t, 6, 2e6))
	more := madeUp(t, 6, 1e6)
	more.Samples[11].Engine = "xsync"
	store.save("b", more)

	_, stdout, _ := call(t, "compare", "a", "b", "--format=json")
	var c results.Comparison
	require.NoError(t, json.Unmarshal([]byte(stdout), &c))
	require.Equal(t, "a", c.Old)
	require.Equal(t, results.Worsened, c.Tables[0].Rows[0].Verdict)
	require.InDelta(t, 100, *c.Tables[0].Rows[0].DeltaPct, 1e-6)
	require.Equal(t, []string{"Counter/engine=xsync/threads=4-2"}, c.OnlyNew)

	_, stdout, _ = call(t, "compare", "a", "b")
	require.Contains(t, stdout, "\nonly in b:\n  Counter/engine=xsync/threads=4-2\n")
}

// Of a run that was cut short the gate cannot tell: the benchmarks that it did not get to may be
// worse. The same holds for those missing on the new side.
func TestGateAndCutShort(t *testing.T) {
	store := keepRuns(t)
	whole := madeUp(t, 6, 1e6)
	store.save("whole", whole)
	cannotTell := func(args []string, why string) {
		args = append([]string{"compare", "--unit=ops/s", "--gate"}, args...)
		code, stdout, stderr := call(t, args...)
		require.Equal(t, ExitCannotTell, code, "%v: %s", args, stderr)
		require.True(t, strings.HasPrefix(stdout, "gate: CANNOT TELL: "), stdout)
		require.Contains(t, stdout, "(higher is better)", "the comparison is printed all the same")
		require.Contains(t, stderr, why, args)
	}
	for _, kind := range []string{results.Interrupted, results.Failed, results.Violated} {
		cut := madeUp(t, 6, 2e6) // faster
		cut.Outcome = results.Outcome{Kind: kind, Detail: "why", Done: len(cut.Samples), Of: 100}
		store.save("cut", cut)
		file := writeFile(t, "cut.txt", func(b *bytes.Buffer) error { return results.WriteBench(b, cut) })
		for _, args := range [][]string{{"whole", "cut"}, {"whole", file},
			{"cut", "whole", "--gate-pct=60"}} {
			cannotTell(args, "cannot tell: ")
		}
		code, _, _ := call(t, "compare", "--unit=ops/s", "--gate", "cut", "whole")
		require.Equal(t, ExitFailed, code, "what is there is worse in any case")
		_, stderr := succeed(t, "compare", "--unit=ops/s", "whole", "cut")
		require.Contains(t, stderr, "note: cut: ")
	}
	less := madeUp(t, 6, 1e6)
	less.Samples = slices.DeleteFunc(less.Samples, func(s results.Sample) bool {
		return s.Engine == "rwmutex"
	})
	less.Outcome = results.Outcome{Kind: results.Complete, Done: len(less.Samples),
		Of: len(less.Samples)}
	store.save("less", less)
	cannotTell([]string{"whole", "less"}, "Counter/engine=rwmutex/threads=4-2 is in whole only")
	less.Outcome.Of++
	store.save("fewer", less)
	cannotTell([]string{"less", "fewer"}, "fewer: complete: 6 of 7 samples")
	_, stderr := succeed(t, "compare", "--unit=ops/s", "--gate", "less", "whole")
	require.Empty(t, stderr, "what is new cannot have become worse")
}

// A run that was killed, and a file of which any part is missing, do not pass.
func TestGateOfHalfAFile(t *testing.T) {
	run := madeUp(t, 6, 1e6)
	var b bytes.Buffer
	require.NoError(t, results.WriteBench(&b, run))
	whole := writeFile(t, "whole.txt", func(w *bytes.Buffer) error { _, err := w.Write(b.Bytes()); return err })
	succeed(t, "compare", "--gate", whole, whole)
	lines := strings.SplitAfter(b.String(), "\n")
	for cut := range lines[:len(lines)-1] {
		if cut > 0 && !strings.Contains(strings.Join(lines[:cut], ""), "\nBenchmark") {
			continue
		}
		for _, text := range []string{
			strings.Join(lines[:cut], ""),                                    // the rest was never written
			strings.Join(slices.Delete(slices.Clone(lines), cut, cut+1), ""), // a line is lost
		} {
			if text == "" || text != strings.Join(lines[:cut], "") && !strings.HasPrefix(lines[cut], "Bench") {
				continue
			}
			file := writeFile(t, "part.txt", func(w *bytes.Buffer) error { _, err := w.WriteString(text); return err })
			code, stdout, stderr := call(t, "compare", "--gate", whole, file)
			require.Equal(t, ExitCannotTell, code, "%s\n%s\n%s", text, stdout, stderr)
			require.Contains(t, stderr, "part.txt: ")
		}
	}
}

// With --rate the gate judges how long operations took: that there were as many as were asked for
// says nothing.
func TestGateOfAPacedRun(t *testing.T) {
	store := keepRuns(t)
	save := func(name string, response, achieved float64) {
		run := madeUp(t, 10, 1e6)
		for i := range run.Samples {
			m := run.Samples[i].Metrics
			m["ops/s"], m["achieved-%"] = 50_000, achieved
			m["response-p50-ns"], m["response-p99-ns"] = 1000*response+float64(i), 9000*response+float64(i)
		}
		store.save(name, run)
	}
	save("before", 1, 100)
	save("same", 1, 100)
	save("slower", 7, 100)
	save("saturated", 1, 80)
	stdout, _ := succeed(t, "compare", "before", "same", "--gate")
	require.Contains(t, stdout, "of 6 comparisons of response-p50-sec, response-p99-sec, achieved-% ")
	require.Less(t, strings.Index(stdout, "\nresponse-p99-sec"), strings.Index(stdout, "\nops/s"))
	for name, want := range map[string]string{
		"slower": "4 of 6 comparisons", "saturated": "2 of 6 comparisons",
	} {
		code, _, stderr := call(t, "compare", "before", name, "--gate")
		require.Equal(t, ExitFailed, code, name)
		require.Contains(t, stderr, want, name)
	}
	// Too few operations for a percentile: it is missing.
	run := loadRun(t, "slower")
	for i := range run.Samples {
		delete(run.Samples[i].Metrics, "response-p99-ns")
		run.Samples[i].Metrics["response-p50-ns"] = 1000
	}
	store.save("few", run)
	code, _, stderr := call(t, "compare", "before", "few", "--gate")
	require.Equal(t, ExitCannotTell, code)
	require.Contains(t, stderr, "response-p99-sec is in before only")
}

func TestCompareWrongArguments(t *testing.T) {
	store := keepRuns(t)
	store.save("a", madeUp(t, 6, 2e6))
	traced := madeUp(t, 6, 1e6)
	traced.Header.Instrumented = "a trace"
	store.save("traced", traced)
	for _, c := range []struct {
		args string
		want []string
	}{
		{"a", []string{"<new>"}},
		{"a traced", []string{"a is plain, traced is instrumented (a trace); --force"}},
		{"a nosuch", []string{"open nosuch: no such file", "expected a file of results"}},
		{"a a --unit=ops/h", []string{"--unit", "ops/h", "ops/s"}},
		{"a a --alpha=0", []string{"--alpha", "between 0 and 1"}},
		{"a a --alpha=NaN", []string{"--alpha"}},
		{"a a --gate-pct=1", []string{"--gate-pct: expected --gate"}},
		{"a a --gate --gate-pct=-1", []string{"--gate-pct", "0 or more"}},
		{"a a --gate --gate-pct=Inf", []string{"--gate-pct"}},
		{"a a --format=xml", []string{"--format", "text", "json"}},
	} {
		refused(t, append([]string{"compare"}, strings.Fields(c.args)...), c.want...)
	}
	_, stderr := succeed(t, "compare", "a", "traced", "--force")
	require.Contains(t, stderr, "note: a is plain, traced is instrumented (a trace)")
}
