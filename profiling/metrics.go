package profiling

import (
	"math"
	"runtime/metrics"
)

// The metrics of the runtime that the dashboard shows.
const (
	heapLive       = "/gc/heap/live:bytes"
	heapGoal       = "/gc/heap/goal:bytes"
	heapObjects    = "/memory/classes/heap/objects:bytes"
	memoryTotal    = "/memory/classes/total:bytes"
	allocBytes     = "/gc/heap/allocs:bytes"
	allocObjects   = "/gc/heap/allocs:objects"
	gcCycles       = "/gc/cycles/total:gc-cycles"
	gcCPU          = "/cpu/classes/gc/total:cpu-seconds"
	assistCPU      = "/cpu/classes/gc/mark/assist:cpu-seconds"
	totalCPU       = "/cpu/classes/total:cpu-seconds"
	gcPauses       = "/sched/pauses/total/gc:seconds"
	schedLatencies = "/sched/latencies:seconds"
	mutexWait      = "/sync/mutex/wait/total:seconds"
	goroutines     = "/sched/goroutines:goroutines"
	runnable       = "/sched/goroutines/runnable:goroutines"
	running        = "/sched/goroutines/running:goroutines"
	waiting        = "/sched/goroutines/waiting:goroutines"
)

var metricNames = []string{
	heapLive, heapGoal, heapObjects, memoryTotal, allocBytes, allocObjects, gcCycles, gcCPU, assistCPU, totalCPU,
	gcPauses, schedLatencies, mutexWait, goroutines, runnable, running, waiting,
}

// runtimeMetrics is one reading of the runtime's metrics, which takes about two
// microseconds and stops nothing.
type runtimeMetrics struct{ samples []metrics.Sample }

func readMetrics() runtimeMetrics {
	m := runtimeMetrics{make([]metrics.Sample, len(metricNames))}
	for i, name := range metricNames {
		m.samples[i].Name = name
	}
	metrics.Read(m.samples)
	return m
}

// number returns a metric, NaN if this runtime does not have it.
func (m runtimeMetrics) number(name string) float64 {
	for _, s := range m.samples {
		if s.Name != name {
			continue
		}
		switch s.Value.Kind() {
		case metrics.KindUint64:
			return float64(s.Value.Uint64())
		case metrics.KindFloat64:
			return s.Value.Float64()
		}
	}
	return math.NaN()
}

// histogram returns a metric, nil if this runtime does not have it.
func (m runtimeMetrics) histogram(name string) *metrics.Float64Histogram {
	for _, s := range m.samples {
		if s.Name == name && s.Value.Kind() == metrics.KindFloat64Histogram {
			return s.Value.Float64Histogram()
		}
	}
	return nil
}

// quantile returns the upper bound of the bucket in which the quantile q of
// what cur has more than prev lies, NaN if there is nothing.
func quantile(prev, cur *metrics.Float64Histogram, q float64) float64 {
	if prev == nil || cur == nil || len(prev.Counts) != len(cur.Counts) {
		return math.NaN()
	}
	var total uint64
	for i, n := range cur.Counts {
		total += n - prev.Counts[i]
	}
	if total == 0 {
		return math.NaN()
	}
	rank := uint64(math.Ceil(q * float64(total)))
	for i, n := range cur.Counts {
		n -= prev.Counts[i]
		if n >= rank && n > 0 {
			if upper := cur.Buckets[i+1]; !math.IsInf(upper, 1) {
				return upper
			}
			return cur.Buckets[i]
		}
		rank -= min(n, rank)
	}
	return math.NaN()
}
