package charts

import (
	"math"
	"runtime/metrics"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/machine"
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
	notInGo        = "/sched/goroutines/not-in-go:goroutines"
)

var metricNames = []string{
	heapLive, heapGoal, heapObjects, memoryTotal, allocBytes, gcCycles, gcCPU, assistCPU,
	totalCPU, gcPauses, schedLatencies, mutexWait, goroutines, runnable, running, waiting,
	notInGo,
}

// Runtime returns the charts of the Go runtime. To read its metrics takes about two
// microseconds and stops nothing.
func Runtime() Group {
	s := &Source{Read: func() any {
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
	gauge := func(name, metric string) Series { return Gauge(s, name, number(metric)) }
	rate := func(name, metric string) Series { return Rate(s, name, number(metric)) }
	quantile := func(name, metric string, q float64) Series {
		return Change(s, name, func(prev, cur readings) float64 {
			return quantile(prev.histogram(metric), cur.histogram(metric), q)
		})
	}
	return Group{Title: "Go runtime", Charts: []Chart{
		{Title: "Heap", Unit: Bytes,
			About: "live as of the last collection, in use now, and where the next collection starts",
			Series: []Series{
				gauge("live", heapLive), gauge("in use", heapObjects),
				gauge("goal", heapGoal), gauge("all memory", memoryTotal),
			}},
		{Title: "Allocation", About: "bytes allocated", Unit: BytesPerSecond,
			Series: []Series{rate("bytes", allocBytes)}},
		{Title: "Garbage collections", About: "collections started", Unit: PerSecond,
			Series: []Series{rate("cycles", gcCycles)}},
		{Title: "Processor time of the collector", Unit: Percent,
			About: "share of all processors, known after each collection",
			Series: []Series{
				Ratio(s, "collector", number(gcCPU), number(totalCPU), 100),
				Ratio(s, "assists", number(assistCPU), number(totalCPU), 100),
			}},
		{Title: "Pauses of the collector", Unit: Seconds, Scale: Logarithmic,
			About:  "while which no goroutine runs",
			Series: []Series{quantile("p50", gcPauses, .5), quantile("max", gcPauses, 1)}},
		{Title: "Scheduler latency", Unit: Seconds, Scale: Logarithmic,
			About: "from runnable to running",
			Series: []Series{
				quantile("p50", schedLatencies, .5), quantile("p99", schedLatencies, .99),
				quantile("max", schedLatencies, 1),
			}},
		{Title: "Mutex wait", Unit: Seconds,
			About:  "time that goroutines waited for locks, per second of all goroutines together",
			Series: []Series{rate("wait", mutexWait)}},
		{Title: "Goroutines", Unit: Count,
			About: "by state; many in system calls wait for a disk, or for C",
			Series: []Series{
				gauge("all", goroutines), gauge("running", running),
				gauge("runnable", runnable), gauge("waiting", waiting),
				gauge("in system calls", notInGo),
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

// quantile returns the upper bound of the bucket that has the quantile q of the values added from
// prev to cur, NaN if there are none.
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

// machineTimes are a reading, with the longest hiccup since the reading before.
type machineTimes struct {
	machine.Times
	machine.Pressure
	io       machine.IO
	inSystem float64 // seconds of processor time of this program in system mode
	hiccup   time.Duration
}

// Machine returns the charts of the machine: whether the program is slow for want of a processor,
// of memory or of a disk. Reading takes some ten microseconds.
func Machine() Group {
	hiccups := new(machine.Hiccups)
	pressure, disks := machine.FindPressure("/"), machine.FindDisks("/")
	s := &Source{Read: func() any {
		t := machineTimes{Times: machine.Read(), Pressure: pressure.Read(), io: disks.Read(),
			inSystem: math.NaN(), hiccup: hiccups.Worst()}
		if cpu, ok := machine.InSystem(); ok {
			t.inSystem = cpu.Seconds()
		}
		return t
	}}
	share := func(name string, of func(machineTimes) float64) Series {
		return Ratio(s, name, of, func(t machineTimes) float64 { return t.Total }, 100)
	}
	percent := func(name string, of func(machineTimes) float64) Series {
		rate := Rate(s, name, of)
		return Series{name, func() float64 { return min(100*rate.Value(), 100) }} // clocks differ
	}
	longest := Gauge(s, "longest", func(t machineTimes) float64 {
		if t.hiccup == 0 {
			return math.NaN()
		}
		return t.hiccup.Seconds()
	})
	about := "share of the time in which some, or all, of " + pressure.Whose + " waited for want of it"
	if pressure.Whose == "" {
		about = "this system does not tell: Linux does, by pressure stall information (PSI)"
	}
	return Group{Title: "Machine", Charts: []Chart{
		{Title: "Processors", About: "share of all processors of the machine: of this program, of " +
			"that in system calls, of all programs, and what the host kept back",
			Unit: Percent, Series: []Series{
				percent("process", func(t machineTimes) float64 {
					return t.Process / float64(t.Processors)
				}),
				share("all programs", func(t machineTimes) float64 { return t.Busy }),
				share("steal", func(t machineTimes) float64 { return t.Steal }),
				percent("in system calls", func(t machineTimes) float64 {
					return t.inSystem / float64(t.Processors)
				}),
			}},
		{Title: "Hiccups", About: "the longest time that a goroutine which was to wake was late",
			Unit: Seconds, Scale: Logarithmic, Series: []Series{longest}},
		{Title: "Pressure", About: about, Unit: Percent, Series: []Series{
			percent("cpu", func(t machineTimes) float64 { return t.CPU }),
			percent("memory", func(t machineTimes) float64 { return t.Memory }),
			percent("io", func(t machineTimes) float64 { return t.IO }),
			percent("memory, all", func(t machineTimes) float64 { return t.AllMemory }),
			percent("io, all", func(t machineTimes) float64 { return t.AllIO }),
			percent("cpu quota used up", func(t machineTimes) float64 { return t.Throttled }),
		}},
		{Title: "Disk", About: "what disks read and wrote for this program", Unit: BytesPerSecond,
			Series: []Series{
				Rate(s, "read", func(t machineTimes) float64 { return t.io.Read }),
				Rate(s, "written", func(t machineTimes) float64 { return t.io.Written }),
			}},
		{Title: "Disk busy", About: "share of the time in which the busiest disk of the machine had " +
			"something to do: one that is stalled has, all the time", Unit: Percent, Series: []Series{
			Change(s, "busiest", func(prev, cur machineTimes) float64 {
				return 100 * cur.io.BusiestSince(prev.io) / s.seconds
			}),
		}},
		{Title: "Time of a disk request", About: "average of all disks of the machine",
			Unit: Seconds, Scale: Logarithmic, Series: []Series{
				Ratio(s, "average", func(t machineTimes) float64 { return t.io.Waited },
					func(t machineTimes) float64 { return t.io.Requests }, 1),
			}},
	}, Source: s, Start: hiccups.Start}
}
