package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/machine"
	"github.com/mvccmap/mvccmap/internal/bench/results"
	"github.com/mvccmap/mvccmap/profiling/prom"
)

// A record has the intervals of each sample, with every operation in one of them, if they are asked
// for; of short samples not otherwise.
func TestRecordHasIntervals(t *testing.T) {
	args := []string{"--workload=transfer", "--engine=mvcc,rwmutex", "--threads=2", "--count=2",
		"--warmup=1ms", "--http=off"}
	for _, s := range record(t, append(args, "--duration=60ms", "--interval=5ms")...).Samples {
		require.NotEmpty(t, s.Intervals)
		var ops uint64
		for _, i := range s.Intervals {
			ops += i.Ops
		}
		require.Equal(t, s.Ops, ops)
	}
	for _, s := range record(t, append(args, "--duration=10ms")...).Samples {
		require.Empty(t, s.Intervals)
	}
}

// counts returns how many operations are exported of each kind.
func counts(list []prom.Operation) map[string]uint64 {
	all := map[string]uint64{}
	for _, o := range list {
		all[o.Name] = 0
		for _, n := range o.Latency.All() {
			all[o.Name] += n
		}
	}
	return all
}

// All operations of all runs are exported, whichever part was timed, and whoever reads meanwhile;
// those of warm-ups are not.
func TestTotalsHaveEveryOperation(t *testing.T) {
	w, ok := bench.WorkloadByName("counter")
	require.True(t, ok)
	engine, ok := bench.EngineByName("mvcc")
	require.True(t, ok)
	trial, err := bench.New(bench.Config{Workload: w, Engine: engine, Threads: 2, LatencySample: 7})
	require.NoError(t, err)
	defer trial.Close()
	c := new(totals)
	c.read(trial, "counter on mvcc")
	require.Empty(t, c.exported())

	_, err = trial.RunFor(t.Context(), time.Millisecond, false)
	require.NoError(t, err)
	c.read(trial, "counter on mvcc")
	warm, _, _, l := c.shown()
	require.Zero(t, l)
	require.Empty(t, c.exported())

	var want uint64
	for range 3 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 20 {
				c.read(trial, "counter on mvcc")
			}
		}()
		m, err := trial.RunOps(t.Context(), 50_000) // so many that some are timed
		require.NoError(t, err)
		<-done
		c.read(trial, "counter on mvcc")
		want += m.Ops
		ops, _, _, l := c.shown()
		require.Equal(t, warm+want, ops)
		require.Positive(t, l.Max)
		require.Equal(t, map[string]uint64{"counter on mvcc": want}, counts(c.exported()))
	}
}

// The dashboard has the machine's other load during each sample, and marks the noisy ones.
func TestNoiseOnTheDashboard(t *testing.T) {
	b := new(board)
	for _, u := range []machine.Usage{
		{For: time.Second, Known: true, Process: 0.7, Others: 0.3, Steal: 0.01,
			Hiccup: 5 * time.Millisecond},
		{For: time.Second, Known: true, Process: 0.98, Others: 0.02},
		{For: time.Second},
	} {
		b.row("a sample", bench.Measurement{Ops: 1, Wall: time.Second, Machine: u})
	}
	rows := b.workload().Results.Rows
	for i, want := range [][]string{
		{"a sample (noisy)", "70 %", "30 %", "1 %", "5.00 ms"},
		{"a sample", "98 %", "2 %", "0 %", "0 ns"},
		{"a sample", "–", "–", "–", "0 ns"},
	} {
		require.Len(t, rows[i], len(resultColumns))
		require.Equal(t, want[0], rows[i][0])
		require.Equal(t, want[1:], rows[i][len(rows[i])-4:])
	}
}

// The summary says which figures have noisy samples and the meaning of that, and nothing of the
// kind when there are none.
func TestNoiseInTheSummary(t *testing.T) {
	o := &output{run: results.Run{Outcome: results.Outcome{Kind: results.Complete}}, subject: "mvcc"}
	for i := range 2 {
		for _, engine := range []string{"mvcc", "rwmutex"} {
			o.run.Samples = append(o.run.Samples, results.Sample{
				Workload: "counter", Title: "Counter", Engine: engine, Threads: 1, Index: i,
				Ops: 1, Wall: time.Second, Metrics: map[string]float64{"ops/s": 1e6, "ns/op": 1000},
			})
		}
	}
	text := func() string {
		var b strings.Builder
		require.NoError(t, o.summary(&b))
		return b.String()
	}
	require.NotContains(t, text(), "noisy")
	require.NotContains(t, text(), results.NoisyMark)
	o.run.Samples[0].Noisy = "a goroutine woke 1.00 s late"
	require.Regexp(t, `(?m)^Counter +1 +1\.00M! +1\.00M `, text())
	require.Contains(t, text(), "! of which samples are noisy, 1 of 4 in all: other programs or the host had")
}
