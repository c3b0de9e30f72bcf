package results

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/hist"
)

// latencies returns the distribution of n latencies, the i-th of which is from + i ns.
func latencies(from int64, n int) Latency {
	h := new(hist.Hist)
	for i := range n {
		h.Add(from+int64(i), 1)
	}
	return NewLatency(Service, h)
}

// testRun returns a run whose throughput is about ops for mvcc, and twice that for
// rwmutex.
func testRun(t testing.TB, samples int, ops float64) *Run {
	t.Helper()
	r := &Run{Header: Header{
		Program: "mvccbench v1.2.3",
		Args:    []string{"run", "--threads=1,2"},
		Started: time.Date(2026, 11, 21, 16, 0, 0, 0, time.UTC),
		Machine: Machine{Go: "go1.26.8", GOOS: "linux", GOARCH: "amd64", CPU: "A  Processor: 3 GHz",
			CPUs: 4, GOMAXPROCS: 2, Settings: map[string]string{"GOGC": "50"}},
		Seed: 7, Count: samples, Warmup: time.Second, Duration: 2 * time.Second,
		Loop: "closed", ClockCost: 40,
		Isolation: []string{"serializable"},
		Skips:     []Skip{{"transfer", "xsync", "it cannot"}}, Notes: []string{"a note"},
	}}
	for threads := 1; threads <= 2; threads++ {
		for i := range samples {
			for e, engine := range []string{"mvcc", "rwmutex"} {
				v := ops * float64(1+e) * (1 + 0.01*float64(i))
				r.Samples = append(r.Samples, Sample{
					Workload: "balanced", Title: "Balanced/keys=10", Params: []Param{{"keys", "10"},
						{"read-pct", "50"}},
					Engine: engine, Level: "serializable", Threads: threads, Index: i,
					Ops: uint64(v), Wall: time.Second, LatencySample: 3,
					Metrics: map[string]float64{"ns/op": 1e9 / v, "ops/s": v, "p50-ns": 1100, "p99-ns": 2080,
						"aborts/op": 0, "B/op": 8 * float64(e)},
					Latency: []Latency{latencies(100, 2000)},
				})
			}
		}
	}
	r.Outcome = Outcome{Kind: Complete, Done: len(r.Samples), Of: len(r.Samples)}
	return r
}

func encode(t testing.TB, r *Run) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, r))
	return b.String()
}

func TestRecordIsReadBack(t *testing.T) {
	r := testRun(t, 2, 1e6)
	r.Header.Instrumented = "a trace"
	r.Outcome = Outcome{Kind: Interrupted, Detail: "by Ctrl-C", Done: len(r.Samples), Of: 100}
	got, err := Read(strings.NewReader(encode(t, r)))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(r, got, cmpopts.EquateEmpty()))
	require.Equal(t, "instrumented: a trace; interrupted after 8 of 100 samples: by Ctrl-C",
		got.Mark())
	require.Empty(t, testRun(t, 1, 1).Mark())
}

// A contradiction in a record is an error that says where.
func TestReaderIsStrict(t *testing.T) {
	good := encode(t, testRun(t, 1, 1e6))
	for _, c := range []struct{ name, from, to, want string }{
		{"not JSON", good, "Benchmark 1 2 ns/op", "invalid character"},
		{"empty", good, "", "unexpected end"},
		{"cut off", good, good[:len(good)/2], "unexpected end"},
		{"more after it", good, good + "{}", "after top-level value"},
		{"another format", `"format": "mvccbench"`, `"format": "perf"`, `"format": "mvccbench"`},
		{"no format", `"format": "mvccbench",`, ``, `"format": "mvccbench"`},
		{"newer", `"version": 2`, `"version": 3`, "version is 3, and this program reads up to 2"},
		{"older", `"version": 2`, `"version": 1`, "version is 1, and this program reads 2: its workloads"},
		{"no version", `"version": 2,`, ``, "no version"},
		{"unknown field", `"seed": 7`, `"sead": 7`, `"sead"`},
		{"wrong type", `"seed": 7`, `"seed": "7"`, "line "},
		{"unknown outcome", `"kind": "complete"`, `"kind": "splendid"`, `"splendid"`},
		{"lost samples", `"done": 4`, `"done": 5`, "counts 5 samples, and there are 4"},
		{"more than asked for", `"of": 4`, `"of": 3`, "4 samples of 3"},
		{"no machine", `"goos": "linux"`, `"goos": ""`, "machine"},
		{"no time", `"2026-11-21T16:00:00Z"`, `"0001-01-01T00:00:00Z"`, "time"},
		{"no loop", `"loop": "closed"`, `"loop": ""`, "loop"},
		{"no engine", `"engine": "mvcc"`, `"engine": ""`, "sample 0: it lacks"},
		{"no threads", `"threads": 1`, `"threads": 0`, "sample 0: 0 threads"},
		{"no operations", `"ops": 1000000`, `"ops": 0`, "sample 0: nothing was done"},
		{"kind of latency", `"kind": "service"`, `"kind": "night"`, `unknown kind of latency "night"`},
		{"count of latencies", `"count": 2000`, `"count": 2001`, "2000 values instead of 2001"},
		{"damaged histogram", `"histogram": "HIST`, `"histogram": "MIST`,
			"histogram of service latencies is damaged"},
		{"short histogram", `"histogram": "`, `"histogram": "A", "x": "`, "x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Contains(t, good, c.from)
			_, err := Read(strings.NewReader(strings.Replace(good, c.from, c.to, 1)))
			require.ErrorContains(t, err, c.want)
			require.ErrorIs(t, err, errFormat)
		})
	}
	_, err := Read(strings.NewReader(good))
	require.NoError(t, err)
}

// No text makes the reader panic.
func FuzzRead(f *testing.F) {
	r := testRun(f, 1, 1e6)
	r.Samples = r.Samples[:1]
	r.Outcome.Done, r.Outcome.Of = 1, 1
	text := encode(f, r)
	f.Add(text)
	f.Add(strings.Replace(text, "HISTF", "HISTE", 1))
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := Read(strings.NewReader(text)); err == nil {
			require.NoError(t, WriteBench(&bytes.Buffer{}, r))
		}
	})
}

func TestOutcomeInWords(t *testing.T) {
	for want, o := range map[string]Outcome{
		"complete: 4 samples":                                {Complete, "", 4, 4},
		"nothing says that it came to its end: 1 samples":    {"", "", 1, 4},
		"interrupted after 1 of 4 samples":                   {Interrupted, "", 1, 4},
		"failed after 1 of 4 samples: no room":               {Failed, "no room", 1, 4},
		"ended by a violation after 1 of 4 samples: a value": {Violated, "a value", 1, 4},
	} {
		require.Equal(t, want, o.String())
	}
}

// Percentiles are of all samples, and only those that ten latencies exceed.
func TestPercentiles(t *testing.T) {
	r := testRun(t, 3, 1e6)
	c := r.Cells()[0]
	list, n := c.Distribution(Service)
	require.Equal(t, uint64(6000), n)
	last := list[len(list)-1]
	require.Equal(t, 99.5, last.Percent, "of 6,000 latencies 6 are above 99.9 %")
	require.InDelta(t, 2089, last.Ns, 2089*hist.MaxError)
	for _, p := range r.Samples[0].Latency[0].Percentiles {
		require.InDelta(t, 99+20*p.Percent, p.Ns, 1+2000*hist.MaxError)
		require.LessOrEqual(t, p.Percent, 99.5)
	}
}

// However many intervals a sample has, its record has few, and all operations; the times of two
// that became one are the longer ones.
func TestIntervalsAreBounded(t *testing.T) {
	var list Intervals
	for i := range 1001 {
		list = list.Add(Interval{End: time.Duration(i+1) * time.Second, Ops: 10, Aborts: 1, Errors: 2,
			P50: int64(i), P99: 5, Max: int64(1000 - i)})
		require.LessOrEqual(t, len(list), MaxIntervals)
		require.True(t, list.inOrder())
	}
	require.Greater(t, len(list), MaxIntervals/2)
	var sum Interval
	for _, i := range list {
		sum = sum.and(i)
	}
	require.Equal(t, Interval{End: 1001 * time.Second, Ops: 10010, Aborts: 1001, Errors: 2002,
		P50: 1000, P99: 5, Max: 1000}, sum)
	require.Equal(t, int64(1000), list[0].Max)
	require.Equal(t, int64(list[0].End/time.Second-1), list[0].P50)
}

// The rest of a sample is no interval of its own: its rate would be that of a moment.
func TestTheLastInterval(t *testing.T) {
	second := func(s float64) Interval { return Interval{End: time.Duration(s * 1e9), Ops: 1} }
	whole := Intervals{second(1), second(2), second(3)}
	require.Equal(t, whole, whole.End())
	require.Len(t, append(whole, second(3.6)).End(), 4)
	end := append(whole, second(3.4)).End()
	require.Equal(t, Intervals{second(1), second(2), {End: 3400 * time.Millisecond, Ops: 2}}, end)
	require.Equal(t, Intervals{second(1), second(1.1)}, Intervals{second(1), second(1.1)}.End())
	require.Empty(t, Intervals(nil).End())
	require.False(t, Intervals{second(1), second(1)}.inOrder())
}

func plainNumber(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

// Limits are read with and without the unit of the figure, whose value says it.
func TestLimits(t *testing.T) {
	for text, want := range map[string]Limit{
		"response-p99<1ms":        {"response-p99-ns", "<", 1e6},
		"response-p99-ns <= 1500": {"response-p99-ns", "<=", 1500},
		"p99.9>2us":               {"p99.9-ns", ">", 2000},
		"achieved>=99":            {"achieved-%", ">=", 99},
		"achieved-%>=99.5%":       {"achieved-%", ">=", 99.5},
		"ops/s>1e6":               {"ops/s", ">", 1e6},
		"B/op<16B":                {"B/op", "<", 16},
		"heap-peak<=1e9":          {"heap-peak-B", "<=", 1e9},
		"aborts/op<0.1":           {"aborts/op", "<", 0.1},
		"gc-pause<1":              {"gc-pause-%", "<", 1},
		"response-max < 2s":       {"response-max-ns", "<", 2e9},
	} {
		l, err := ParseLimit(text, plainNumber)
		require.NoError(t, err, text)
		require.Equal(t, want, l, text)
	}
	for _, text := range []string{"", "p99", "p99<", "p99<-1", "p99<NaN", "ops/s<1ms", "<1", "p98<1ms"} {
		_, err := ParseLimit(text, plainNumber)
		require.Error(t, err, text)
	}
	require.Equal(t, "response-p99-ns < 1.00 ms", Limit{"response-p99-ns", "<", 1e6}.String())
	for op, want := range map[string][3]bool{
		"<": {true, false, false}, "<=": {true, true, false},
		">": {false, false, true}, ">=": {false, true, true},
	} {
		for i, v := range []float64{9, 10, 11} {
			require.Equal(t, want[i], Limit{"ops/s", op, 10}.Holds(v), "%v %s 10", v, op)
		}
	}
}

// The median of the samples is checked. A figure that a sample lacks is not known.
func TestChecksOfACell(t *testing.T) {
	cell := new(Cell)
	for i := range 3 {
		cell.Samples = append(cell.Samples, &Sample{Title: "X", Engine: "mvcc", Threads: 2,
			Metrics: map[string]float64{"ops/s": float64(100 + i), "p99-ns": 2e6}})
	}
	delete(cell.Samples[1].Metrics, "p99-ns")
	checks := cell.Check([]Limit{{"ops/s", ">=", 101}, {"ops/s", ">", 101}, {"p99-ns", "<", 1e9}})
	require.True(t, checks[0].Kept && checks[0].Known)
	require.True(t, !checks[1].Kept && checks[1].Known)
	require.Equal(t, "ops/s > 101: missed by X/engine=mvcc/threads=2: 101", checks[1].String())
	require.False(t, checks[2].Known || checks[2].Kept)
	require.Contains(t, checks[2].String(), "cannot tell of X/")
	_, err := ParseLimit("p99<1", func(string) (float64, error) { return 0, errors.New("no") })
	require.ErrorIs(t, err, ErrLimit)
}

// Each figure of a measurement has a description; those that nothing is known of
// are left out.
func TestFigures(t *testing.T) {
	w, _ := bench.WorkloadByName("transfer")
	f := figures(bench.Config{Workload: w, Attempts: 2}, bench.Measurement{
		Ops: 1000, Aborts: 100, Errors: 10, Wall: time.Second, CPU: 2 * time.Second,
		Bytes: 16_000, Allocs: 2_000,
		GCs: 3, GCPause: 10 * time.Millisecond, GCShare: 0.25, Rate: 2000, Backlog: 990, Audits: 7,
		Memory: &bench.Memory{HeapStart: 1, HeapPeak: 3, HeapEnd: 2, VersionsStart: 4,
			VersionsPeak: 6, VersionsEnd: 5},
	})
	require.Equal(t, map[string]float64{
		"ns/op": 1e6, "ops/s": 1000, "achieved-%": 50.5, "backlog": 990, "err/s": 10, "aborts/op": 0.1,
		"cpu-ns/op": 2e6,
		"B/op":      16, "allocs/op": 2, "gc-%": 25, "gc-pause-%": 1, "gc/s": 3, "audits/s": 7,
		"heap-start-B": 1, "heap-peak-B": 3, "heap-end-B": 2, "versions-start": 4, "versions-peak": 6,
		"versions-end": 5,
	}, f)
	w, _ = bench.WorkloadByName("counter")
	f = figures(bench.Config{Workload: w}, bench.Measurement{Ops: 1, Wall: time.Second})
	for _, unit := range []string{"achieved-%", "backlog", "err/s", "cpu-ns/op", "audits/s",
		"heap-peak-B", "p50-ns", "max-ns", "ctx-switches/op"} {
		require.NotContains(t, f, unit)
	}
}
