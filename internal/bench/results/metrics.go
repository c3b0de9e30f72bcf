package results

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Metric is a figure of a sample: its meaning, the way of its measurement, and which
// way is better.
type Metric struct {
	Unit   string // as in results, and in --unit of compare
	Better string // "lower" or "higher"
	Doc    string // its meaning: no capital, no full stop
	How    string // how it is measured: no capital, no full stop

	// Digits is how many digits after the point mean something; if negative,
	// four significant ones do.
	Digits int
}

// A Quantile is a latency that is reported.
type Quantile struct {
	Unit   string // without the prefix of the kind of latency
	Q      float64
	Exceed string // the part of the operations that exceeds it
}

// Quantiles are the latencies that are reported, of each kind.
var Quantiles = []Quantile{
	{"p50-ns", 0.5, "one in 2"},
	{"p99-ns", 0.99, "one in 100"},
	{"p99.9-ns", 0.999, "one in 1,000"},
	{"p99.99-ns", 0.9999, "one in 10,000"},
	{"p99.999-ns", 0.99999, "one in 100,000"},
}

// ResponsePrefix begins the units of latencies that count from the moment at
// which an operation was meant to begin.
const ResponsePrefix = "response-"

// achieved is the unit that only samples with operations at a given rate have.
const achieved = "achieved-%"

const (
	byClock = "by reading the clock before and after a random sample of the operations " +
		"(--latency-sample); a histogram for each goroutine, correct to 0.4 %, merged"
	bySchedule = "as the latencies above, but from the moment at which the operation was due, " +
		"whether or not the goroutine was free; with --rate only"
	afterGC   = "by the runtime, after a collection of garbage"
	byMap     = "counted by the map, at the interval of the audits"
	byRuntime = "by the runtime's own counters before and after the sample"
)

// Metrics returns all figures, in the order in which they are written. It is the
// one table that the output, the comparison and the list are made from.
//
// A figure in nanoseconds must not be zero: readers of the Go benchmark format take
// "0 ns" and "1 ns" for two different units.
func Metrics() []Metric {
	list := []Metric{
		{"ns/op", "lower", "wall time divided by committed operations, over all goroutines",
			"from the start of the first goroutine to the end of the last operation", -1},
		{"ops/s", "higher", "committed operations divided by wall time; aborted attempts are not " +
			"operations", "as ns/op", 0},
	}
	for _, q := range Quantiles {
		list = append(list, Metric{q.Unit, "lower",
			"latency that " + q.Exceed + " of the timed operations exceeds, retries included; only if at " +
				"least ten did", byClock, 0})
	}
	list = append(list, Metric{"max-ns", "lower", "longest latency of the timed operations", byClock,
		0})
	for _, q := range Quantiles {
		list = append(list, Metric{ResponsePrefix + q.Unit, "lower",
			"response time that " + q.Exceed +
				" of the operations exceeds, waiting included; only if at least ten did", bySchedule, 0})
	}
	return append(list,
		Metric{ResponsePrefix + "max-ns", "lower", "longest response time", bySchedule, 0},
		Metric{achieved, "higher",
			"percentage of the operations due that had been begun when the sample ended",
			"with --rate only; below 99 the map, or the machine, does not keep up", 2},
		Metric{"backlog", "lower", "operations that were due and not begun when the sample ended",
			"with --rate only", 0},
		Metric{"err/s", "lower", "operations that were given up, per second", "with --retries only", -1},
		Metric{"aborts/op", "lower", "attempts that did not commit, for each committed operation; " +
			"without --retries each was made again", "counted by the engine's sessions", -1},
		Metric{"cpu-ns/op", "lower", "processor time of the whole process for each operation, garbage " +
			"collection and background work included", "by the system's account of the process", -1},
		Metric{"B/op", "lower", "bytes allocated for each operation; the harness allocates none",
			byRuntime, 1},
		Metric{"allocs/op", "lower", "objects allocated for each operation", byRuntime, 2},
		Metric{"gc-%", "lower", "percentage of all processor time, GOMAXPROCS times wall time, that " +
			"the garbage collector took; as of the last collection that ended", byRuntime, 2},
		Metric{"gc-pause-%", "lower", "percentage of wall time for which the garbage collector stopped " +
			"everything", byRuntime, 3},
		Metric{"gc/s", "lower", "collections of garbage that ended, per second", byRuntime, 2},
		Metric{"ctx-switches/op", "lower",
			"context switches of the process for each operation, voluntary or not",
			"by the system's account of the process", -1},
		Metric{"heap-start-B", "lower",
			"bytes of the heap in use before the sample; workloads about memory only", afterGC, 0},
		Metric{"heap-peak-B", "lower",
			"most bytes of the heap that a collection found in use meanwhile; workloads about memory only",
			"by the runtime, at the interval of the audits", 0},
		Metric{"heap-end-B", "lower", "bytes of the heap in use at the end, whatever snapshot is open " +
			"still open; workloads about memory only", afterGC, 0},
		Metric{"versions-start", "lower",
			"versions of values that the map held before the sample; workloads about memory only", byMap, 0},
		Metric{"versions-peak", "lower",
			"most versions of values that the map held meanwhile; workloads about memory only", byMap, 0},
		Metric{"versions-end", "lower",
			"versions of values that the map held at the end; workloads about memory only", byMap, 0},
		Metric{"process-%", "higher", "percentage of the processors of the machine that the process had",
			"by the system's accounts of the process and the machine, before and after the sample; if it " +
				"was long enough for them; in JSON only", 1},
		Metric{"others-%", "lower", "percentage of the processors of the machine that other programs " +
			"had, and the system's own work", "as process-%", 1},
		Metric{"steal-%", "lower", "percentage of the processors of the machine that the host of a " +
			"virtual machine kept back", "as process-%", 1},
		Metric{"hiccup-ns", "lower", "longest time that a goroutine, which wakes every 10 ms, was late",
			"by that goroutine; in JSON only", 0},
		Metric{"audits/s", "higher", "full scans made meanwhile, each with a correct result; workloads " +
			"with an auditor only", "counted by the auditor", 1},
	)
}

// asides are the units of figures about the machine. Records have these figures. The Go benchmark
// format, from which comparisons are made, does not.
var asides = []string{"process-%", "others-%", "steal-%", "hiccup-ns"}

var byUnit = func() map[string]Metric {
	m := map[string]Metric{}
	for _, metric := range Metrics() {
		m[metric.Unit] = metric
	}
	return m
}()

// MetricByUnit returns the metric with the given unit, which may be of one kind of operation.
func MetricByUnit(unit string) (Metric, bool) {
	name, of, apart := strings.Cut(unit, ofOperation)
	if !apart {
		of = unit
	}
	m, ok := byUnit[of]
	if apart {
		m.Unit, m.Doc = unit, m.Doc+", of "+name
	}
	return m, ok
}

// Units returns the units that occur in the samples: those of [Metrics] in their
// order, then any others by name.
func Units(samples []Sample) []string {
	have := map[string]bool{}
	for _, s := range samples {
		for unit := range s.Metrics {
			have[unit] = true
		}
	}
	var units []string
	for _, m := range Metrics() {
		if have[m.Unit] {
			units = append(units, m.Unit)
			delete(have, m.Unit)
		}
	}
	return append(units, slices.Sorted(maps.Keys(have))...)
}

// Format writes v with as many digits as mean something.
func (m Metric) Format(v float64) string {
	if m.Digits >= 0 {
		return trimZeros(strconv.FormatFloat(v, 'f', m.Digits, 64))
	}
	if v == 0 {
		return "0"
	}
	digits := 3 - int(math.Floor(math.Log10(math.Abs(v))))
	return trimZeros(strconv.FormatFloat(v, 'f', min(max(digits, 0), 9), 64))
}

// Round returns v as [Metric.Format] writes it, so that a figure is the same in every format.
func (m Metric) Round(v float64) float64 {
	r, err := strconv.ParseFloat(m.Format(v), 64)
	if err != nil {
		return v
	}
	return r
}

// trimZeros takes away zeros after the point that say nothing.
func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
