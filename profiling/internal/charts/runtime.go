package charts

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
	heapLive, heapGoal, heapObjects, memoryTotal, allocBytes, gcCycles, gcCPU, assistCPU,
	totalCPU, gcPauses, schedLatencies, mutexWait, goroutines, runnable, running, waiting,
}

// Runtime returns the charts of the Go runtime. To read its metrics takes about two
// microseconds and stops nothing.
func Runtime() Group {
	s := &Source[readings]{Read: func() readings {
		list := make(readings, len(metricNames))
		for i, name := range metricNames {
			list[i].Name = name
		}
		metrics.Read(list)
		return list
	}}
	number := func(name string) func(readings) float64 {
		return func(r readings) float64 { return r.number(name) }
	}
	gauge := func(name, metric string) Series { return s.Gauge(name, number(metric)) }
	rate := func(name, metric string) Series { return s.Rate(name, number(metric)) }
	quantile := func(name, metric string, q float64) Series {
		return s.Change(name, func(prev, cur readings) float64 {
			return quantile(prev.histogram(metric), cur.histogram(metric), q)
		})
	}
	return Group{Title: "Go runtime", Charts: []Chart{
		{"Heap",
			"live as of the last collection, in use now, and where the next collection starts",
			Bytes, FromZero, []Series{
				gauge("live", heapLive), gauge("in use", heapObjects),
				gauge("goal", heapGoal), gauge("all memory", memoryTotal),
			}},
		{"Allocation", "bytes allocated", BytesPerSecond, FromZero,
			[]Series{rate("bytes", allocBytes)}},
		{"Garbage collections", "collections started", PerSecond, FromZero,
			[]Series{rate("cycles", gcCycles)}},
		{"Processor time of the collector",
			"share of all processors, known after each collection", Percent, FromZero, []Series{
				s.Ratio("collector", number(gcCPU), number(totalCPU), 100),
				s.Ratio("assists", number(assistCPU), number(totalCPU), 100),
			}},
		{"Pauses of the collector", "while which no goroutine runs", Seconds, Logarithmic,
			[]Series{quantile("p50", gcPauses, .5), quantile("max", gcPauses, 1)}},
		{"Scheduler latency", "from runnable to running", Seconds, Logarithmic, []Series{
			quantile("p50", schedLatencies, .5), quantile("p99", schedLatencies, .99),
			quantile("max", schedLatencies, 1),
		}},
		{"Mutex wait",
			"time that goroutines waited for locks, per second of all goroutines together",
			Seconds, FromZero, []Series{rate("wait", mutexWait)}},
		{"Goroutines", "by state", Count, FromZero, []Series{
			gauge("all", goroutines), gauge("running", running),
			gauge("runnable", runnable), gauge("waiting", waiting),
		}},
	}, Source: s}
}

// readings are of the metrics, in the order of their names.
type readings []metrics.Sample

// number returns a metric, NaN if this runtime does not have it.
func (r readings) number(name string) float64 {
	for _, s := range r {
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
func (r readings) histogram(name string) *metrics.Float64Histogram {
	for _, s := range r {
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
