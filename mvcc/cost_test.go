package mvcc

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// What follows is open, or has been: its price in memory is tested, its price in time
// measured.

// A map costs what is in it.
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

// settled reclaims until every snapshot is old and nothing waits.
func settled(m *Map[int, int]) {
	for range 32 {
		_ = m.Reclaim(bg)
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
				settled(m)
				store(b, m)
			})
		}
	}
}

// One Reclaim after every second of n snapshots over 500 keys was closed.
func BenchmarkReclaimClosed(b *testing.B) {
	for _, n := range []int{500, 1000, 2000} {
		b.Run(fmt.Sprintf("snapshots=%d", n), func(b *testing.B) {
			const keys = 500
			for b.Loop() {
				b.StopTimer()
				m := newMap[int, int](b, &Options{ManualReclaim: true})
				var open []Snapshot[int, int]
				for i := range n {
					for key := range keys {
						m.Store(key, i)
					}
					open = append(open, m.Snapshot())
					_ = m.Reclaim(bg)
				}
				settled(m)
				for i := 0; i < n; i += 2 {
					open[i].Close()
				}
				b.StartTimer()
				_ = m.Reclaim(bg)
				b.StopTimer()
				if got := measureAsIs(m).versions; got > keys*(n/2+2) {
					b.Fatalf("%d versions are left", got)
				}
				closeAll(open)
				m.Close()
				b.StartTimer()
			}
		})
	}
}

// What a snapshot that is open takes, of very many.
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

// Increments of one key by many goroutines that yield in between, so that each lets all
// others in, beside a goroutine that stores another key.
func BenchmarkOneKey(b *testing.B) {
	for _, goroutines := range []int{16, 1024} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			m := newMap[int, int](b, nil)
			m.Store(1, 0)
			m.Store(2, 0)
			var done atomic.Int64
			var stop atomic.Bool
			var crew, stranger sync.WaitGroup
			stores := 0
			stranger.Go(func() {
				for ; !stop.Load(); stores++ {
					m.Store(2, stores)
				}
			})
			b.ResetTimer()
			for range goroutines {
				crew.Go(func() {
					for done.Add(1) <= int64(b.N) {
						err := m.Update(bg, nil, func(tx Tx[int, int]) error {
							value, _ := tx.Get(1)
							runtime.Gosched()
							tx.Set(1, value+1)
							return nil
						})
						if err != nil {
							b.Error(err)
						}
					}
				})
			}
			crew.Wait()
			b.StopTimer()
			stop.Store(true)
			stranger.Wait()
			b.ReportMetric(float64(stores)/b.Elapsed().Seconds(), "strangers-stores/s")
			if value, _ := m.Load(1); value != b.N {
				b.Errorf("%d increments, want %d", value, b.N)
			}
		})
	}
}
