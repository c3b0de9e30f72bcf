package results

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
)

func source(t *testing.T, label string, r *Run) *Source {
	t.Helper()
	s, err := r.Source(label)
	require.NoError(t, err)
	return s
}

func loadSource(name string) (*Source, error) {
	in, err := Load(name)
	if err != nil {
		return nil, err
	}
	return in.Source()
}

func table(t *testing.T, c *Comparison, unit string) Table {
	t.Helper()
	for _, tab := range c.Tables {
		if tab.Unit == unit {
			return tab
		}
	}
	t.Fatalf("no table of %s", unit)
	return Table{}
}

// The figures are those of benchstat: medians, intervals, U test; and it is known
// which way is better.
func TestCompare(t *testing.T) {
	c, err := Compare(source(t, "a", testRun(t, 6, 1e6)), source(t, "b", testRun(t, 6, 2e6)),
		Options{Alpha: 0.05})
	require.NoError(t, err)
	var units []string
	for _, tab := range c.Tables {
		units = append(units, tab.Unit)
	}
	require.Equal(t, []string{"sec/op", "ops/s", "p50-sec", "p99-sec", "aborts/op", "B/op"}, units,
		"in the order of the metrics")

	ops := table(t, c, "ops/s")
	require.Equal(t, "higher", ops.Better)
	require.Len(t, ops.Rows, 4)
	r := ops.Rows[0]
	require.Equal(t, "Balanced/keys=10/engine=mvcc/threads=1-2", r.Name)
	require.Equal(t, 1.025e6, r.Old.Center)
	require.Equal(t, 2.05e6, r.New.Center)
	require.Equal(t, "± 2%", r.Old.Range)
	require.Equal(t, 1.0e6, *r.Old.Lo)
	require.Equal(t, 1.05e6, *r.Old.Hi)
	require.InDelta(t, 100, *r.DeltaPct, 1e-9)
	require.InDelta(t, 0.00216, r.P, 1e-4)
	require.Equal(t, Improved, r.Verdict)
	require.InDelta(t, 100, *ops.Geomean.DeltaPct, 1e-9)
	require.InDelta(t, 1.025e6*math.Sqrt2, ops.Geomean.Old.Center, 1)

	sec := table(t, c, "sec/op")
	require.Equal(t, "lower", sec.Better)
	require.Equal(t, Improved, sec.Rows[1].Verdict)
	require.InDelta(t, -50, *sec.Rows[1].DeltaPct, 1e-6)

	same := table(t, c, "p99-sec")
	require.False(t, same.Rows[0].Significant)
	require.Empty(t, same.Rows[0].Verdict)
	aborts := table(t, c, "aborts/op")
	require.True(t, aborts.zero())
	require.False(t, same.zero())
	require.Nil(t, aborts.Geomean)
	require.Equal(t, Passed, c.Judge(0, true).Outcome)

	c, err = Compare(source(t, "b", testRun(t, 6, 2e6)), source(t, "a", testRun(t, 6, 1e6)),
		Options{Alpha: 0.05, Units: []string{"p99-ns", "ops/s", "ops/s"}})
	require.NoError(t, err)
	require.Len(t, c.Tables, 2)
	require.Equal(t, "p99-sec", c.Tables[0].Unit)
	require.InDelta(t, 4.88, c.Tables[1].Rows[0].Old.Spread, 0.01)
	require.Equal(t, "-51.4% to -48.5%", c.Tables[1].Rows[0].Interval())
	require.Len(t, c.Judge(47, true).Worse, 4)
	require.Empty(t, c.Judge(49.9, true).Worse, "the samples range over 4.9 %")
	require.Len(t, c.Judge(49.9, true).Open, 4)
	require.Equal(t, Passed, c.Judge(52, true).Outcome)
	require.Equal(t, "ops/s", c.Judge(0, true).Worse[0].Unit)
	require.Contains(t, c.Judge(100, true).Doubts, "ops/s cannot fall by more than 100 %")
	require.Equal(t, []string{"p99-sec", "ops/s"}, c.Judge(0, true).Units)
	require.Equal(t, []string{"ops/s"}, c.Judge(0, false).Units)

	c, err = Compare(source(t, "a", testRun(t, 6, 1e6)), source(t, "b", testRun(t, 6, 2e6)),
		Options{Alpha: 0.001})
	require.NoError(t, err)
	require.False(t, table(t, c, "ops/s").Rows[0].Significant, "six samples cannot be that sure")
	require.Contains(t, c.Warnings[0], "24 of 24 comparisons have too few samples")
}

// Growing from zero is worse whatever the threshold, and has no percentage.
func TestCompareFromZero(t *testing.T) {
	after := testRun(t, 8, 1e6)
	for i := range after.Samples {
		after.Samples[i].Metrics["aborts/op"] = 0.5
	}
	c, err := Compare(source(t, "a", testRun(t, 8, 1e6)), source(t, "b", after), Options{Alpha: 0.05})
	require.NoError(t, err)
	r := table(t, c, "aborts/op").Rows[0]
	require.Equal(t, Worsened, r.Verdict)
	require.Nil(t, r.DeltaPct)
	require.Len(t, c.Judge(1e9, true).Worse, 4)
	text, err := json.Marshal(c)
	require.NoError(t, err)
	require.Contains(t, string(text), `"delta_pct":null`)
}

func TestTooFewSamples(t *testing.T) {
	c, err := Compare(source(t, "a", testRun(t, 3, 1e6)), source(t, "b", testRun(t, 3, 2e6)),
		Options{Alpha: 0.05})
	require.NoError(t, err)
	r := table(t, c, "ops/s").Rows[0]
	require.False(t, r.Significant)
	require.True(t, r.Undecidable)
	require.Nil(t, r.Old.Lo)
	require.Equal(t, "± ∞", r.Old.Range)
	require.Equal(t, []string{"24 of 24 comparisons have too few samples for any difference to be " +
		"significant; 5 on each side are enough"}, c.Warnings)

	for _, s := range []struct {
		n1, n2 int
		p      float64
	}{{1, 1, 1}, {3, 3, 0.1}, {4, 4, 2.0 / 70}, {1, 39, 0.05}, {6, 6, 2.0 / 924}, {6, 3, 2.0 / 84}} {
		require.InDelta(t, s.p, SmallestP(s.n1, s.n2), 1e-12)
	}
	for alpha, n := range map[float64]int{0.5: 2, 0.05: 4, 0.01: 5, 0.001: 7} {
		require.Equal(t, n, SamplesFor(alpha))
	}
}

// An instrumented run is not compared with a plain one, nor with one that was
// instrumented otherwise, unless it is forced.
func TestInstrumentedRunsAreKeptApart(t *testing.T) {
	plain, traced, profiled := testRun(t, 6, 1e6), testRun(t, 6, 1e6), testRun(t, 6, 1e6)
	traced.Header.Instrumented = "a trace"
	profiled.Header.Instrumented = "a profile"
	for _, pair := range [][2]*Run{{plain, traced}, {traced, plain}, {traced, profiled}} {
		_, err := Compare(source(t, "a", pair[0]), source(t, "b", pair[1]), Options{Alpha: 0.05})
		require.ErrorIs(t, err, ErrInstrumented)
		c, err := Compare(source(t, "a", pair[0]), source(t, "b", pair[1]),
			Options{Alpha: 0.05, Force: true})
		require.NoError(t, err)
		require.Contains(t, strings.Join(c.Warnings, "\n"), "the difference may be the instruments'")
	}
	c, err := Compare(source(t, "a", traced), source(t, "b", traced), Options{Alpha: 0.05})
	require.NoError(t, err)
	require.Empty(t, c.Warnings)
}

func TestWhatDiffersIsSaid(t *testing.T) {
	a, b := testRun(t, 6, 1e6), testRun(t, 6, 1e6)
	b.Header.CPU = ""
	b.Outcome = Outcome{Kind: Interrupted, Done: len(b.Samples), Of: 99}
	b.Samples = b.Samples[:12] // one thread only
	b.Outcome.Done = 12
	for i := range b.Samples {
		if b.Samples[i].Engine == "rwmutex" {
			b.Samples[i].Engine = "xsync"
		}
	}
	c, err := Compare(source(t, "a", a), source(t, "b", b), Options{Alpha: 0.05})
	require.NoError(t, err)
	require.Equal(t, []string{"cpu: A Processor: 3 GHz in a, none in b",
		"b: interrupted after 12 of 99 samples"}, c.Warnings)
	require.Len(t, c.Tables[0].Rows, 1)
	require.Len(t, c.OnlyOld, 3)
	require.Equal(t, []string{"Balanced/keys=10/engine=xsync/threads=1-2"}, c.OnlyNew)

	for i := range b.Samples {
		b.Samples[i].Title = "Other"
	}
	_, err = Compare(source(t, "a", a), source(t, "b", b), Options{Alpha: 0.05})
	require.ErrorIs(t, err, ErrNothing)
	require.ErrorContains(t, err, "a has Balanced/keys=10/engine=mvcc/threads=1-2, "+
		"Balanced/keys=10/engine=rwmutex/threads=1-2 and 2 more")
	_, err = Compare(source(t, "a", a), source(t, "b", a),
		Options{Alpha: 0.05, Units: []string{"ops/h"}})
	require.ErrorIs(t, err, ErrUnit)
	require.ErrorContains(t, err, `"ops/h"; both sides have sec/op, ops/s`)
}

// The format that a run was written in does not change the comparison.
func TestFormatDoesNotMatter(t *testing.T) {
	dir := t.TempDir()
	run := testRun(t, 6, 1e6)
	run.Samples[0].Metrics["aborts/op"] = 0.25
	json, txt := filepath.Join(dir, "run.json"), filepath.Join(dir, "run.txt")
	require.NoError(t, os.WriteFile(json, []byte("\n "+encode(t, run)), 0o600))
	require.NoError(t, os.WriteFile(txt, []byte(benchText(t, run)), 0o600))

	var first []Table
	same := cmpopts.IgnoreUnexported(Row{})
	for _, name := range []string{json, txt} {
		s, err := loadSource(name)
		require.NoError(t, err)
		require.Equal(t, name, s.Label)
		c, err := Compare(s, source(t, "other", testRun(t, 6, 3e6)), Options{Alpha: 0.05})
		require.NoError(t, err)
		if first == nil {
			first = c.Tables
		}
		require.Empty(t, cmp.Diff(first, c.Tables, same))
	}
	// Results of other programs are compared, too.
	other := filepath.Join(dir, "other.txt")
	require.NoError(t, os.WriteFile(other,
		[]byte(strings.Repeat("pkg: x\nBenchmarkX 1 5 ns/op\nPASS\npkg: y\nBenchmarkX 1 0 ns/op 7 "+
			"widgets\nBenchmark bad line\nPASS\n", 2)), 0o600))
	s, err := loadSource(other)
	require.NoError(t, err)
	require.Len(t, s.Warnings, 2)
	c, err := Compare(s, s, Options{Alpha: 0.05})
	require.NoError(t, err)
	require.Equal(t, "x.X", c.Tables[0].Rows[0].Name)
	require.Equal(t, "y.X", c.Tables[0].Rows[1].Name)
	require.Empty(t, table(t, c, "widgets").Better)
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	empty, bad, txt := filepath.Join(dir, "empty"), filepath.Join(dir, "bad"),
		filepath.Join(dir, "txt")
	require.NoError(t, os.WriteFile(empty, []byte("Benchmark\nhello"), 0o600))
	require.NoError(t, os.WriteFile(bad, []byte(`{"format":"x"}`), 0o600))
	require.NoError(t, os.WriteFile(txt, []byte("BenchmarkX 1 5 ns/op\n"), 0o600))
	head := filepath.Join(dir, "head")
	require.NoError(t, os.WriteFile(head, []byte("# header: {\nBenchmarkX 1 5 ns/op\n"), 0o600))
	for name, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file",
		dir:                        "is a directory",
		empty:                      "no results in it",
		bad:                        bad + ": not a record",
		head:                       head + ": the header: ",
	} {
		_, err := loadSource(name)
		require.ErrorContains(t, err, want)
	}
	in, err := Load(txt)
	require.NoError(t, err)
	_, err = in.Run()
	require.ErrorContains(t, err, "expected a record in JSON")
}

// Runs that have nothing in common but for one parameter are compared across it.
func TestCompareAcrossALabel(t *testing.T) {
	only := func(engine, level string) *Run {
		r := testRun(t, 6, 1e6)
		r.Samples = slices.DeleteFunc(r.Samples, func(s Sample) bool { return s.Engine != "mvcc" })
		for i := range r.Samples {
			r.Samples[i].Engine = engine
			r.Samples[i].Title += level
		}
		r.Outcome.Done, r.Outcome.Of = len(r.Samples), len(r.Samples)
		return r
	}
	for _, other := range []struct {
		run  *Run
		want []string
	}{
		{only("xsync", ""), []string{"engine: mvcc in a, xsync in b: that is what is compared"}},
		{only("mvcc", "/isolation=snapshot"),
			[]string{"isolation: none in a, snapshot in b: that is what is compared"}},
		{only("xsync", "/isolation=snapshot"), []string{
			"engine: mvcc in a, xsync in b: that is what is compared",
			"isolation: none in a, snapshot in b: that is what is compared",
		}},
	} {
		c, err := Compare(source(t, "a", only("mvcc", "")), source(t, "b", other.run),
			Options{Alpha: 0.05})
		require.NoError(t, err)
		require.Equal(t, other.want, c.Warnings)
		require.Empty(t, c.OnlyOld)
		require.Empty(t, c.OnlyNew)
		require.Len(t, c.Tables[0].Rows, 2)
		require.Zero(t, *c.Tables[0].Rows[0].DeltaPct)
		require.Contains(t, c.Tables[0].Rows[0].Name, "Balanced/keys=10/")
		require.Contains(t, c.Tables[0].Rows[0].Name, "/threads=")
	}
}

// The text says that a run came to its end; a text that does not leaves a doubt.
func TestEnds(t *testing.T) {
	doubts := func(text string) string {
		s, err := parseBench("x", []byte(text))
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(s.Warnings), len(s.Doubts))
		return strings.Join(s.Doubts, "\n")
	}
	run := testRun(t, 6, 1e6)
	whole := benchText(t, run)
	require.Empty(t, doubts(whole))
	require.Empty(t, doubts(strings.ReplaceAll(whole, "\n", "\r\n")))
	require.Empty(t, doubts(whole+whole), "runs that were appended")
	require.Contains(t, doubts(whole[:len(whole)/2]), "nothing says that the run came to its end")
	require.Contains(t, doubts(whole+whole[:len(whole)/2]), "nothing says that the run came to its end")
	cut := strings.LastIndex(whole, "Benchmark")
	require.Contains(t, doubts(whole[:cut]+"# complete: 24 of 24 samples\n"),
		"a run says that it has 24 samples, and there are 23")
	run.Samples[3].Interrupted = true
	require.Empty(t, doubts(benchText(t, run)))

	const one = "pkg: x\nBenchmarkX 1 5 ns/op\n"
	require.Empty(t, doubts(one+"PASS\nok  \tx\t1.2s\n"+one+"PASS\nok  \ty\t1.2s\n"))
	require.Contains(t, doubts(one), "go test ends with PASS and ok")
	require.Contains(t, doubts(one+"PASS\nok  \tx\t1.2s\n"+one), "go test ends with PASS and ok")
	require.Contains(t, doubts(one+"--- FAIL: BenchmarkY\nFAIL\n"), "--- FAIL: BenchmarkY")
	require.Contains(t, doubts(one+"BenchmarkX x 5 ns/op\nPASS\n"), "1 lines could not be read")
}

// A byte order mark hides nothing.
func TestByteOrderMark(t *testing.T) {
	run := testRun(t, 6, 1e6)
	for _, text := range []string{"BenchmarkX 1 5 ns/op\nPASS\n", encode(t, run), benchText(t, run)} {
		in, err := Parse("x", strings.NewReader("\uFEFF"+text))
		require.NoError(t, err)
		got, err := in.Source()
		require.NoError(t, err)
		in, err = Parse("x", strings.NewReader(text))
		require.NoError(t, err)
		want, err := in.Source()
		require.NoError(t, err)
		require.Len(t, got.Results, len(want.Results))
		require.Empty(t, got.Doubts)
		require.Equal(t, want.header, got.header)
	}
	_, err := Parse("x", strings.NewReader("\xFF\xFEB\x00"))
	require.ErrorContains(t, err, "x: it is in UTF-16; expected UTF-8")
	_, err = Read(strings.NewReader("\uFEFF" + encode(t, run)))
	require.NoError(t, err)
}
