// Package bars holds the transactional map to bounds: each bar is a Go benchmark that compares the
// map with the parts that it is built of, or with those that it replaces. "make bars" runs them;
// docs/performance.md has the figures.
package bars

import (
	"context"
	"flag"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var weighed = flag.Int("keys", 1_000_000, "keys of the maps that are weighed")

// length is that of a sample, which follows a warm-up.
var length = 100 * time.Millisecond

const (
	batch  = 10_000 // operations of a goroutine between two looks at the clock
	warmup = 10 * time.Millisecond
)

// A row compares two sides. Ratios are used because they mean the same on every machine.
type row struct {
	name       string // as a benchmark's: "load/keys=10000/goroutines=2"
	ours, base side
	// speed says that the ratio is of speeds: it must reach the bar, where others must not exceed it.
	speed bool
	// bar must hold and aim is wanted.
	bar, aim float64
	// maxAllocs bounds the allocations of an operation of ours; negative: they do not matter.
	maxAllocs float64
}

// A side is one of the two sides of a row. The operations of a sample have its name as the label
// "side" in profiles, the preparations have not.
type side struct {
	name   string // "mvcc", "xsync"
	sample func(t testing.TB) figure
}

// A figure is nanoseconds an operation, or bytes a key, and allocations an operation.
type figure struct{ value, allocs float64 }

// BenchmarkBars measures the rows. The sides of a row take turns, so that a machine that grows
// slower or faster meanwhile is equally unfair to both. It reports the ratio of the medians, the
// bar and the aim, and as "met" 1 if the bar holds, else 0. For profiles of a row:
//
//	go test -run '^$' -bench Bars/store/keys=10000/goroutines=1 -benchtime 10x -cpuprofile cpu.prof .
//	go tool pprof -top -tagfocus side=mvcc cpu.prof
func BenchmarkBars(b *testing.B) {
	all := sizes{path: [2]int{10_000, 1_000_000}, scan: 1_000_000, weighs: *weighed}
	for _, row := range rows(all) {
		b.Run(row.name, func(b *testing.B) {
			var values, allocs [2][]float64
			for i := 0; b.Loop(); i++ {
				for j := range 2 {
					j ^= i & 1 // neither side is always the first
					f := []side{row.ours, row.base}[j].sample(b)
					values[j], allocs[j] = append(values[j], f.value), append(allocs[j], f.allocs)
				}
			}
			ratio := median(values[0]) / median(values[1])
			if row.speed {
				ratio = 1 / ratio // they are times
			}
			met := 0.0
			if row.met(ratio, median(allocs[0])) {
				met = 1
			}
			b.ReportMetric(0, "ns/op") // of both sides, with their preparation
			b.ReportMetric(ratio, "ratio")
			b.ReportMetric(row.bar, "bar")
			b.ReportMetric(row.aim, "aim")
			b.ReportMetric(met, "met")
			if row.maxAllocs >= 0 {
				b.ReportMetric(median(allocs[0]), "allocs")
			}
		})
	}
}

// met reports whether the bar holds. The slack is for the allocations of the runtime meanwhile.
func (r row) met(ratio, allocs float64) bool {
	if r.maxAllocs >= 0 && allocs > r.maxAllocs+0.05 {
		return false
	}
	return r.speed && ratio >= r.bar || !r.speed && ratio <= r.bar
}

func median(list []float64) float64 {
	slices.Sort(list)
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// measure takes a sample of op, which performs so many operations at a time.
func measure(name string, many int, op func(n int)) figure {
	for begin := time.Now(); time.Since(begin) < warmup; {
		op(many)
	}
	runtime.GC()
	var before, after runtime.MemStats
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("side", name)))
	defer pprof.SetGoroutineLabels(context.Background())
	runtime.ReadMemStats(&before)
	ops, begin := 0.0, time.Now()
	for time.Since(begin) < length {
		op(many)
		ops += float64(many)
	}
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	return figure{float64(took) / ops, float64(after.Mallocs-before.Mallocs) / ops}
}

// Every side of every row works, and whoever reaches an aim has passed the bar.
func TestRows(t *testing.T) {
	length = time.Millisecond
	defer func() { length = 100 * time.Millisecond }()
	seen := map[string]bool{}
	for _, row := range rows(sizes{path: [2]int{500, 2_000}, scan: 2_000, weighs: 2_000}) {
		require.False(t, seen[row.name], "%s is there twice", row.name)
		seen[row.name] = true
		require.True(t, row.met(row.aim, row.maxAllocs), row.name)
		require.False(t, row.met(row.bar*1.01, row.maxAllocs) && row.met(row.bar*0.99, row.maxAllocs),
			row.name)
		require.False(t, row.maxAllocs >= 0 && row.met(row.aim, row.maxAllocs+1), row.name)
		long := strings.HasPrefix(row.name, "bytes") || strings.HasPrefix(row.name, "many-")
		if testing.Short() && long { // under the race detector
			continue
		}
		if rebuilds := strings.HasPrefix(row.name, "rebuild/"); rebuilds &&
			(testing.Short() || row.name != "rebuild/maps=1") {
			continue // one that works will do
		}
		for _, side := range []side{row.base, row.ours} {
			require.Positive(t, side.sample(t).value, "%s, %s", row.name, side.name)
		}
	}
}

// A map weighs as much as its filling leaves behind.
func TestWeight(t *testing.T) {
	const keys, each = 4_000, 16 << 10
	f := weight("heavy", keys, func(keys int) func() {
		var list [][]byte
		for range keys {
			list = append(list, make([]byte, each))
		}
		return func() { list[0] = nil }
	}).sample(t)
	// Other tests' garbage may go away meanwhile: it is little beside 64 MB.
	require.InDelta(t, each, f.value, each/4)
}
