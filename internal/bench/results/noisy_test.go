package results

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/machine"
)

// noisyRun is testRun on a machine that was not quiet during the first and the fourth sample.
func noisyRun(t *testing.T) *Run {
	r := testRun(t, 6, 1e6)
	r.Samples[0].Noisy, r.Samples[3].Noisy = "other programs had 30 % of the processors",
		"a goroutine woke 1.00 s late"
	for i := range r.Samples {
		r.Samples[i].Metrics["process-%"], r.Samples[i].Metrics["steal-%"] = 90, 0
		r.Samples[i].Metrics["others-%"], r.Samples[i].Metrics["hiccup-ns"] = 10, 1e6
	}
	return r
}

// The record of a sample has the machine's other load, and whether that may explain a difference.
func TestMachineInRecords(t *testing.T) {
	w, _ := bench.WorkloadByName("counter")
	e, _ := bench.EngineByName("mvcc")
	of := func(u machine.Usage) Sample {
		return NewSample(bench.Config{Workload: w, Engine: e, Threads: 1},
			bench.Measurement{Ops: 1, Wall: time.Second, Machine: u})
	}
	quiet := of(machine.Usage{For: time.Second, Known: true, Process: 0.5, Others: 0.021,
		Hiccup: 3 * time.Millisecond})
	require.Empty(t, quiet.Noisy)
	for unit, v := range map[string]float64{"process-%": 50, "others-%": 2.1, "steal-%": 0,
		"hiccup-ns": 3e6} {
		require.Contains(t, quiet.Metrics, unit)
		require.Equal(t, v, quiet.Metrics[unit], unit)
	}
	require.Equal(t, "other programs had 50 % of the processors",
		of(machine.Usage{For: time.Second, Known: true, Process: 0.5, Others: 0.5}).Noisy)
	unknown := of(machine.Usage{For: time.Second})
	for _, unit := range asides {
		require.NotContains(t, unknown.Metrics, unit)
	}
}

// A noisy sample is marked in each format, in the Go benchmark format above its line, which readers
// of the format read as ever. The machine's other load is in records only.
func TestNoisySamplesAreMarked(t *testing.T) {
	r := noisyRun(t)
	text := benchText(t, r)
	require.Contains(t, text, "# noisy, the next sample: other programs had 30 % of the processors\n")
	require.NotContains(t, text, "steal-%")
	n := 0
	for in := benchfmt.NewReader(strings.NewReader(text), "run"); in.Scan(); {
		if _, ok := in.Result().(*benchfmt.Result); ok {
			n++
		}
	}
	require.Equal(t, len(r.Samples), n)
	require.NotContains(t, benchText(t, testRun(t, 6, 1e6)), "noisy")

	got, err := Read(strings.NewReader(encode(t, r)))
	require.NoError(t, err)
	for i := range r.Samples {
		require.Equal(t, r.Samples[i].Noisy, got.Samples[i].Noisy, i)
	}
	require.Equal(t, "2 of 24 samples are noisy", got.Mark())

	// One that was interrupted does not count at all.
	r.Samples[3].Interrupted = true
	noisy, of := r.Noisy()
	require.Equal(t, []int{1, 23}, []int{noisy, of})
}

// A comparison says how many samples are noisy, of saved runs and of files.
func TestNoisySamplesInComparisons(t *testing.T) {
	quiet, noisy := source(t, "a", testRun(t, 6, 1e6)), source(t, "b", noisyRun(t))
	c, err := Compare(quiet, noisy, Options{Alpha: 0.05})
	require.NoError(t, err)
	require.Equal(t, []int{0, 2}, []int{c.NoisyOld, c.NoisyNew})
	require.Equal(t, []string{"noisy samples: 0 of 24 in a, 2 of 24 in b; a difference may be the " +
		"machine's"}, c.Warnings)
	for _, table := range c.Tables {
		require.NotContains(t, asides, table.Unit)
	}
	c, err = Compare(quiet, quiet, Options{Alpha: 0.05})
	require.NoError(t, err)
	require.Empty(t, c.Warnings)
}
