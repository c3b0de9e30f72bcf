package mvcc

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Prices of maps, and of snapshots that are open, or have been: memory is tested, time measured.

// A map costs little without entries, or with one.
func TestEmptyMap(t *testing.T) {
	const n = 100
	maps := make([]*Map[int, int], n)
	start := heap()
	each := func() int64 { return (heap() - start) / n }
	for i := range maps {
		maps[i] = New[int, int](nil)
		defer maps[i].Close()
	}
	// Counters and pools have a part for each P.
	shards := int64(runtime.GOMAXPROCS(0)) * 1024
	empty := each()
	require.Less(t, empty, 6<<10+shards)
	for _, m := range maps {
		m.Store(1, 1)
		_ = m.View(func(s Snapshot[int, int]) error { s.Get(1); return nil })
	}
	used := each()
	require.Less(t, used, 14<<10+shards)
	t.Logf("%d bytes empty, %d after a Store and a View", empty, used)
	runtime.KeepAlive(maps)
}

// burst opens n snapshots of different epochs, and returns them.
func burst(m *Map[int, int], n int) []Snapshot[int, int] {
	open := make([]Snapshot[int, int], n)
	for i := range open {
		m.Store(-1, i)
		open[i] = m.Snapshot()
	}
	return open
}

func closeAll(open []Snapshot[int, int]) {
	for _, s := range open {
		s.Close()
	}
}

// A store of a hot key beside n snapshots that are open, or that have been.
func BenchmarkHotKey(b *testing.B) {
	store := func(b *testing.B, m *Map[int, int]) {
		m.Store(1, 0)
		longest := 0
		for i := 0; b.Loop(); i++ {
			m.Store(1, i)
			if i%1024 == 0 {
				longest = max(longest, len(chainOf(m, 1)))
			}
		}
		b.ReportMetric(float64(longest), "versions")
	}
	for _, n := range []int{0, 10_000, 100_000, 1_000_000} {
		for _, workers := range []int{1, -1} {
			name := fmt.Sprintf("workers=%d/snapshots=%d/", workers, n)
			b.Run(name+"open", func(b *testing.B) {
				m := newMap[int, int](b, &Options{ReclaimWorkers: workers})
				open := burst(m, n)
				// In mixed order: half of them are new, in slots between the others.
				for i := 0; i < n; i += 2 {
					open[i].Close()
					m.Store(-1, i)
					open[i] = m.Snapshot()
				}
				store(b, m)
				closeAll(open)
			})
			b.Run(name+"closed", func(b *testing.B) {
				m := newMap[int, int](b, &Options{ReclaimWorkers: workers})
				closeAll(burst(m, n))
				reclaim(b, m, 32) // every snapshot is old, and nothing waits
				store(b, m)
			})
		}
	}
}

// The price of an open snapshot, of very many.
func BenchmarkOpenSnapshots(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				m := newMap[int, int](b, nil)
				open := make([]Snapshot[int, int], n)
				start := heap()
				b.StartTimer()
				for i := range open {
					open[i] = m.Snapshot()
				}
				b.StopTimer()
				b.ReportMetric(float64(heap()-start)/float64(n), "B/snapshot")
				b.StartTimer()
				closeAll(open)
				b.StopTimer()
				m.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/snapshot")
		})
	}
}
