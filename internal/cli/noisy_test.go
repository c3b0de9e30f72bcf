package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/machine"
	"github.com/mvccmap/mvccmap/internal/results"
)

// The dashboard has what the machine did during each sample, and marks the noisy ones.
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

// The tables say which figures have noisy samples and what that means, and nothing of the kind
// when there are none.
func TestNoiseInTables(t *testing.T) {
	run := &results.Run{Outcome: results.Outcome{Kind: results.Complete}}
	for i := range 2 {
		for _, engine := range []string{"mvcc", "rwmutex"} {
			run.Samples = append(run.Samples, results.Sample{
				Workload: "begin", Title: "Begin", Engine: engine, Threads: 1, Index: i,
				Ops: 1, Wall: time.Second, Metrics: map[string]float64{"ops/s": 1e6, "ns/op": 1000},
			})
		}
	}
	text := func() string {
		var b strings.Builder
		require.NoError(t, writeStandings(&b, run, "mvcc", 80, false))
		require.NoError(t, writeRunTable(&b, run))
		return b.String()
	}
	require.NotContains(t, text(), "noisy")
	require.NotContains(t, text(), results.NoisyMark)
	run.Samples[0].Noisy = "a goroutine woke 1.00 s late"
	require.Regexp(t, `(?m)^Begin +1 +1\.00M! +1\.00M `, text())
	require.Contains(
		t,
		text(),
		"! of which samples are noisy, 1 of 4 in all: other programs or the host had",
	)
	require.Regexp(t, `(?m)^Begin +1 +mvcc .* 1 of 2$`, text())
	require.Contains(t, text(), "NOTE: 1 of 4 samples are noisy")
	for line := range strings.SplitSeq(text(), "\n") {
		if strings.Contains(line, "of which samples") {
			require.LessOrEqual(t, len(line), 80)
		}
	}
}
