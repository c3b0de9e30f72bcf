package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// keptRuns are runs in the current folder, each in a file of its name.
type keptRuns struct{ *testing.T }

// keepRuns makes a folder of the test's own the current one.
func keepRuns(t *testing.T) keptRuns {
	t.Helper()
	t.Chdir(t.TempDir())
	return keptRuns{t}
}

func (k keptRuns) save(name string, r *results.Run) {
	k.Helper()
	var b bytes.Buffer
	require.NoError(k, results.Write(&b, r))
	require.NoError(k, os.WriteFile(name, b.Bytes(), 0o600))
}

// madeUp returns a run with throughputs of about ops, in rounds of four samples.
func madeUp(t *testing.T, samples int, ops float64) *results.Run {
	t.Helper()
	r := &results.Run{Header: results.Header{
		Program: "mvccbench v1", Started: time.Date(2026, 11, 21, 16, 0, 0, 0, time.UTC),
		Machine: results.Machine{Go: "go1.26", GOOS: "linux", GOARCH: "amd64", CPU: "a processor",
			CPUs: 2, GOMAXPROCS: 2},
		Count: samples, Duration: time.Second, Loop: "closed",
	}}
	for _, engine := range []string{"mvcc", "rwmutex"} {
		for i := range samples {
			v := ops * (1 + 0.01*float64(i))
			if engine == "rwmutex" {
				v = 3e6 + float64(i%3)
			}
			r.Samples = append(r.Samples, results.Sample{
				Workload: "counter", Title: "Counter", Engine: engine, Level: "serializable", Threads: 4, Index: i,
				Ops: uint64(v), Wall: time.Second,
				Metrics: map[string]float64{"ops/s": v, "ns/op": 1e9 / v, "aborts/op": 0, "p99-ns": 1500},
			})
		}
	}
	r.Outcome = results.Outcome{Kind: results.Complete, Done: len(r.Samples), Of: len(r.Samples)}
	return r
}

func writeFile(t *testing.T, name string, write func(b *bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, write(&b))
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o600))
	return file
}

// Each format has every sample, on standard output or in a file.
func TestFormats(t *testing.T) {
	args := quick("--workload=counter", "--engine=rwmutex,mvcc", "--latency-sample=1")
	stdout, stderr := succeed(t, args...)
	require.Regexp(t, `(?m)^Counter +1 +[\d.]+[kMG]?!? `, stderr)
	samples, _ := parse(t, stdout)
	require.Len(t, samples, 8)
	file := filepath.Join(t.TempDir(), "results.txt")
	stdout, _ = succeed(t, append(args, "-o", file)...)
	require.Empty(t, stdout)
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	samples, _ = parse(t, string(b))
	require.Len(t, samples, 8)

	run := record(t, args...)
	require.Len(t, run.Samples, 8)
	require.Equal(t, results.Complete, run.Outcome.Kind)
	require.Equal(t, args, run.Header.Args[:len(args)])
	require.EqualValues(t, 1, run.Header.Seed)
	require.NotZero(t, run.Header.ClockCost)
	for _, s := range run.Samples {
		require.Positive(t, s.Metrics["ops/s"])
		require.Equal(t, "1", s.Param("keys"))
		require.Len(t, s.Latency, 1)
		require.Equal(t, s.Ops, s.Latency[0].Count, "every operation was timed")
	}
}

// An interrupted run, and one that was instrumented, says so in every format.
func TestMarks(t *testing.T) {
	for _, name := range []string{"x.txt", "x.json"} {
		file := filepath.Join(t.TempDir(), name)
		o, err := outputFlags{Output: file}.open(&Env{})
		require.NoError(t, err)
		require.NoError(t, o.begin(results.Header{Program: "mvccbench", Started: time.Now(),
			Duration: time.Second, Loop: "closed"}))
		o.instrument("a trace")
		w, _ := bench.WorkloadByName("counter")
		e, _ := bench.EngineByName("rwmutex")
		require.NoError(t, o.sample(bench.Config{Workload: w, Engine: e, Threads: 1},
			bench.Measurement{Ops: 5, Wall: time.Second, Interrupted: true}))
		var stderr lines
		require.NoError(t, o.end(results.Outcome{Kind: results.Interrupted, Done: 1, Of: 9}, true, &stderr))
		require.Empty(t, stderr.String())
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Regexp(t, `(?i)instrumented`, string(text), name)
		require.Contains(t, string(text), "a trace", name)
		require.Contains(t, string(text), "interrupted", name)
	}
}

// Latencies are in nanoseconds.
func TestLatenciesAreInNanoseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := twoSteps(t)[0]
		step.Config.Threads, step.Config.LatencySample = 1, 1
		trial := slowTrial(t, step, 2*time.Millisecond)
		m, err := trial.RunFor(t.Context(), 10*time.Second, true)
		require.NoError(t, err)
		s := results.NewSample(step.Config, m)
		for _, unit := range []string{"ns/op", "p50-ns", "p99-ns", "max-ns"} {
			require.InEpsilon(t, 2e6, s.Metrics[unit], 0.005, unit)
		}
		require.InEpsilon(t, 500, s.Metrics["ops/s"], 0.005)
		require.NotContains(t, s.Metrics, "p99.9-ns", "5000 operations cannot tell")
	})
}

// Where the results are to go is tried before anything is measured, and nothing is
// left behind if it does not work.
func TestWrongDestinations(t *testing.T) {
	store := keepRuns(t)
	store.save("taken", madeUp(t, 1, 1e6))
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("precious"), 0o600))
	for _, c := range []struct{ arg, want string }{
		{"--report=" + dir, "is a directory"},
		{"--output=" + dir, "file that can be written"},
		{"--output=" + filepath.Join(dir, "no", "x"), "file that can be written"},
		{"--output=" + file, "already"},
		{"--hlog=" + file, "already"},
		{"--hlog=" + filepath.Join(dir, "no", "x"), "file that can be written"},
		{"--report=" + file, "would be lost"},
	} {
		flag, _, _ := strings.Cut(c.arg, "=")
		refused(t, quick("--workload=counter", c.arg), flag+":", c.want)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "precious", string(b))
	refused(t, []string{"report", "taken", "--report=" + file}, "would be lost")
	for range 2 { // a page may be replaced
		succeed(t, quick("--workload=counter", "--report", filepath.Join(dir, "page"))...)
	}
}
