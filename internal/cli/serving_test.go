package cli

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/profiling"
)

// BenchmarkServing shows what the pages cost a workload: not served, served to
// nobody, to one dashboard that asks for news each second, and with slow operations
// recorded. Alternate them, as in
//
//	for i in $(seq 10); do go test -run '^$' -bench Serving -benchtime 2s ./internal/cli; done > serving.txt
//	go tool benchstat -col /pages serving.txt
func BenchmarkServing(b *testing.B) {
	w, ok := bench.WorkloadByName("transfer")
	require.True(b, ok)
	e, ok := bench.EngineByName("mvcc")
	require.True(b, ok)
	for _, pages := range []string{"off", "idle", "watched", "slow"} {
		b.Run("pages="+pages, func(b *testing.B) {
			t, err := bench.New(bench.Config{Workload: w, Engine: e, Threads: 2, Seed: 1,
				AuditInterval: bench.DefaultAuditInterval})
			require.NoError(b, err)
			defer t.Close()
			if pages != "off" {
				var slow *profiling.SlowConfig
				if pages == "slow" {
					slow = &profiling.SlowConfig{}
				}
				p, err := startProfiler(served{program: "mvccbench", addr: "127.0.0.1:0", slow: slow})
				require.NoError(b, err)
				defer p.close()
				p.running(t, bench.Config{Workload: w, Engine: e})
				defer p.stopped()
				if pages == "watched" {
					defer watch(p.url())()
				}
			}
			_, err = t.RunFor(b.Context(), 50*time.Millisecond, false)
			require.NoError(b, err)
			b.ResetTimer()
			m, err := t.RunOps(b.Context(), uint64(b.N))
			b.StopTimer()
			require.NoError(b, err)
			require.NoError(b, t.Verify())
			b.ReportMetric(m.NsPerOp(), "ns/op")
			if cpu, ok := m.CPUNsPerOp(); ok {
				b.ReportMetric(cpu, "cpu-ns/op")
			}
		})
	}
}

// watch does what an open dashboard does, until the returned function is called.
func watch(url string) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			if res, err := http.Get(url + "/debug/pprof/live.json"); err == nil {
				io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			select {
			case <-quit:
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
