package journey

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
)

// BenchmarkSteps measures the steps, as docs/journey.md has them:
//
//	go test -run '^$' -bench Steps/.*/threads=2 -benchtime 500ms -count 3 .
//
// To see where the time of a step goes: -cpuprofile and go tool pprof.
func BenchmarkSteps(b *testing.B) {
	for _, step := range Steps() {
		for _, workload := range Workloads() {
			for _, threads := range []int{1, 2, 4, 8} {
				c := bench.Config{Workload: workload, Engine: step.Engine, Threads: threads}
				if !step.Retries {
					c.Attempts = 1
				}
				measure(b, "step="+step.Name, c)
			}
		}
	}
}

// BenchmarkAborts measures the questions that the post left open. Commits give way to others, so
// that many abort. Does the map from epochs to counts fall at two threads if aborted transactions
// stay in it? How much memory do retries take, and how much does using states again save?
func BenchmarkAborts(b *testing.B) {
	counter, _ := bench.WorkloadByName("counter")
	for _, q := range []struct {
		name, step string
		stay       bool
		workload   bench.Workload
		threads    []int
		attempts   int
	}{
		{"aborted=ended", "counted", false, Workloads()[1], []int{1, 2}, 1},
		{"aborted=stay", "counted", true, Workloads()[1], []int{1, 2}, 1},
		{"states=allocated", "retry", false, counter, []int{8}, 0},
		{"states=reused", "reuse", false, counter, []int{8}, 0},
	} {
		for _, step := range Steps() {
			if step.Name != q.step {
				continue
			}
			step.Config.Yield, step.Config.LeaveAborted = true, q.stay
			for _, threads := range q.threads {
				measure(b, q.name, bench.Config{Workload: q.workload, Threads: threads, Attempts: q.attempts,
					Engine: Engine(q.step, "", step.Config)})
			}
		}
	}
}

// measure runs the benchmark of an engine. Operations that have not committed do not count.
func measure(b *testing.B, name string, c bench.Config) {
	name = fmt.Sprintf("%s/workload=%s/threads=%d", name, c.Workload.Name, c.Threads)
	c.LatencySample, c.AuditInterval = bench.NoLatency, bench.DefaultAuditInterval
	var engine bench.Engine
	open := c.Engine.New
	c.Engine.New = func(setup bench.Setup) (_ bench.Engine, err error) {
		engine, err = open(setup)
		return engine, err
	}
	b.Run(name, func(b *testing.B) {
		trial, err := bench.New(c)
		require.NoError(b, err)
		defer trial.Close()
		_, err = trial.RunFor(b.Context(), 20*time.Millisecond, false)
		require.NoError(b, err)
		b.ResetTimer()
		m, err := trial.RunOps(b.Context(), uint64(b.N))
		b.StopTimer()
		require.NoError(b, err)
		b.ReportMetric(m.OpsPerSecond(), "ops/s")
		b.ReportMetric(m.AbortsPerOp(), "aborts/op")
		b.ReportMetric(m.BytesPerOp(), "B/op")
		b.ReportMetric(float64(engine.(bench.Versioner).Versions()), "versions")
		require.NoError(b, trial.Verify())
	})
}
