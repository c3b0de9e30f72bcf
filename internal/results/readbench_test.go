package results

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// A file in the Go benchmark format has what charts need: the same samples, marks
// and machine as the record it was written from.
func TestReadBench(t *testing.T) {
	r := testRun(t, 2, 1e6)
	r.Header.Instrumented = "execution trace"
	r.Samples[1].Title += "/isolation=snapshot"
	last := &r.Samples[len(r.Samples)-1]
	last.Interrupted = true
	last.Metrics["response-p99-ns"] = 5 // a new unit, of which a line tells before the comment
	for _, outcome := range []Outcome{
		{Kind: Complete, Done: 8, Of: 8},
		{Kind: Interrupted, Done: 8, Of: 12},
		{Kind: Failed, Done: 8, Of: 12, Detail: "boom: it burst"},
		{Kind: Violated, Done: 8, Of: 12, Detail: "verification violated"},
	} {
		r.Outcome = outcome
		got, err := readBench("file", []byte(benchText(t, r)))
		require.NoError(t, err)
		require.Equal(t, outcome, got.Outcome)
		require.Equal(t, "mvccbench v1.2.3", got.Header.Program)
		require.Equal(t, "go1.26.8", got.Header.Go)
		require.Equal(t, r.Header.Started, got.Header.Started)
		require.Equal(t, "execution trace", got.Header.Instrumented)
		require.Equal(t, 4, got.Header.CPUs)
		require.Equal(t, 2, got.Header.GOMAXPROCS)
		require.Equal(t, "A Processor: 3 GHz", got.Header.CPU)
		require.Equal(t, "linux", got.Header.GOOS)
		require.Equal(t, 2, got.Header.Count)
		require.Equal(t, Describe(r.Header), Describe(got.Header))
		require.Len(t, got.Samples, len(r.Samples))
		for i := range r.Samples {
			want, have := r.Samples[i], got.Samples[i]
			require.Equal(t, want.Key(), have.Key())
			require.Equal(t, want.Ops, have.Ops)
			require.InEpsilon(t, float64(want.Wall), float64(have.Wall), 1e-6)
			require.Equal(t, want.Interrupted, have.Interrupted, i)
			require.Empty(t, cmp.Diff(want.Metrics, have.Metrics), "in the units in which they were written")
		}
		require.Equal(t, 1, got.Samples[4].Index+got.Samples[0].Index+got.Samples[2].Index,
			"samples are counted by combination")
		require.Equal(t, "10", got.Samples[0].Param("keys"))
		require.Equal(t, "serializable", got.Samples[0].Level)
		require.Equal(t, "snapshot", got.Samples[1].Level)
	}
}

func TestReadBenchOfOthers(t *testing.T) {
	for text, want := range map[string]string{
		"":           "file: there are no results in it",
		"BenchmarkX": "file: there are no results in it",
		"\nBenchmarkMap/engine=a-2 1 5 ns/op\n": "file:2: result Map/engine=a-2: its name has no " +
			"engine= and threads=",
		"BenchmarkMap/engine=a/threads=x 1 5 ns/op\n": "expected a number after threads",
	} {
		_, err := readBench("file", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
	cut := testRun(t, 1, 1e6)
	whole := benchText(t, cut)
	cut.Outcome = Outcome{Kind: Interrupted, Done: 4, Of: 9}
	r, err := readBench("file", []byte(benchText(t, cut)+whole))
	require.NoError(t, err)
	require.Equal(t, Outcome{Kind: Interrupted, Done: 8, Of: 9}, r.Outcome, "of one of two runs")
	r, err = readBench("file", []byte("BenchmarkMap/engine=a/threads=3 10 5 ns/op 7 widgets\nPASS\n"))
	require.NoError(t, err)
	require.Equal(t, 1, r.Header.GOMAXPROCS)
	require.Empty(t, r.Mark())
	require.Equal(t, map[string]float64{"ns/op": 5, "widgets": 7}, r.Samples[0].Metrics)
}
