package bench

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// The workloads as Go benchmarks, under the names that mvccbench gives its
// results; many-goroutines, which is paced, is for mvccbench alone:
//
//	go test -bench 'ReadHeavy/engine=(mvcc|rwmutex)$' ./bench
//
// Each run has a map of its own, filled before the clock starts, and is verified
// after it has stopped.

func BenchmarkReadHeavy(b *testing.B)  { benchmarkWorkload(b, "read-heavy") }
func BenchmarkBalanced(b *testing.B)   { benchmarkWorkload(b, "balanced") }
func BenchmarkWriteHeavy(b *testing.B) { benchmarkWorkload(b, "write-heavy") }
func BenchmarkZipfRead(b *testing.B)   { benchmarkWorkload(b, "zipf-read") }
func BenchmarkZipfWrite(b *testing.B)  { benchmarkWorkload(b, "zipf-write") }
func BenchmarkDisjoint(b *testing.B)   { benchmarkWorkload(b, "disjoint") }
func BenchmarkTransfer(b *testing.B)   { benchmarkWorkload(b, "transfer") }
func BenchmarkCounter(b *testing.B)    { benchmarkWorkload(b, "counter") }
func BenchmarkBegin(b *testing.B)      { benchmarkWorkload(b, "begin") }
func BenchmarkMixed(b *testing.B)      { benchmarkWorkload(b, "mixed") }

func BenchmarkYcsbA(b *testing.B)         { benchmarkWorkload(b, "ycsb-a") }
func BenchmarkYcsbB(b *testing.B)         { benchmarkWorkload(b, "ycsb-b") }
func BenchmarkYcsbC(b *testing.B)         { benchmarkWorkload(b, "ycsb-c") }
func BenchmarkYcsbF(b *testing.B)         { benchmarkWorkload(b, "ycsb-f") }
func BenchmarkDisjointBatch(b *testing.B) { benchmarkWorkload(b, "disjoint-batch") }
func BenchmarkFreeBatch(b *testing.B)     { benchmarkWorkload(b, "free-batch") }
func BenchmarkLongReader(b *testing.B)    { benchmarkWorkload(b, "long-reader") }
func BenchmarkOverwrite(b *testing.B)     { benchmarkWorkload(b, "overwrite") }

func benchmarkWorkload(b *testing.B, name string) {
	w, ok := WorkloadByName(name)
	require.True(b, ok)
	for _, e := range Engines() {
		if _, ok := e.Runs(w); !ok {
			continue
		}
		for _, threads := range []int{1, 2, 4, 8} {
			b.Run(fmt.Sprintf("engine=%s/threads=%d", e.Name, threads), func(b *testing.B) {
				tr, err := New(Config{
					Workload: w, Engine: e, Threads: threads, Seed: 1,
					LatencySample: maxSample, AuditInterval: DefaultAuditInterval,
				})
				require.NoError(b, err)
				defer tr.Close()
				_, err = tr.RunOps(b.Context(), uint64(threads*max(1_000/max(w.Params.TxnSize, 1), 1)))
				require.NoError(b, err)
				b.ResetTimer()
				m, err := tr.RunOps(b.Context(), uint64(b.N))
				b.StopTimer()
				require.NoError(b, err)
				require.NoError(b, tr.Verify())
				// Without what a run does before it begins.
				b.ReportMetric(m.NsPerOp(), "ns/op")
				b.ReportMetric(m.BytesPerOp(), "B/op")
				b.ReportMetric(m.AllocsPerOp(), "allocs/op")
				b.ReportMetric(m.AbortsPerOp(), "aborts/op")
				if w.HasAudits() {
					b.ReportMetric(m.AuditsPerSecond(), "audits/s")
				}
			})
		}
	}
}

// BenchmarkHarness shows what the harness itself takes of each operation: the
// loop, the random choices and the record kept for verification, around an engine
// that does nothing. It is contained in every figure of every engine.
func BenchmarkHarness(b *testing.B) {
	for _, w := range Workloads() {
		b.Run(w.Name, func(b *testing.B) {
			tr, err := New(Config{Workload: w, Engine: idleSpec(), Threads: 1, Seed: 1,
				LatencySample: maxSample, AuditInterval: DefaultAuditInterval})
			require.NoError(b, err)
			b.ReportAllocs()
			b.ResetTimer()
			m, err := tr.RunOps(b.Context(), uint64(b.N))
			require.NoError(b, err)
			b.ReportMetric(m.NsPerOp(), "ns/op")
		})
	}
}
