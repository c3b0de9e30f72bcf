package cli

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/mvccmap/mvccmap/bench"
)

// A metric is a figure of a result line.
type metric struct {
	unit   string
	better string // "lower" or "higher"
	doc    string

	// value returns the figure; ok is false if this measurement has none.
	value func(c bench.Config, m bench.Measurement) (v float64, ok bool)
	// digits is the number of digits after the point that mean something.
	digits int
}

// metrics are the figures in the order of a result line.
var metrics = []metric{
	{unit: "ns/op", better: "lower", digits: -1,
		doc:   "wall time divided by committed operations, over all goroutines",
		value: always(bench.Measurement.NsPerOp)},
	{unit: "ops/s", better: "higher", digits: 0,
		doc:   "committed operations divided by wall time; aborted attempts are not operations",
		value: always(bench.Measurement.OpsPerSecond)},
	quantile("p50-ns", 0.5, "median latency of the timed operations, retries and one reading of the clock included"),
	quantile("p99-ns", 0.99, "latency that one operation in 100 exceeds; only if at least ten timed ones did"),
	quantile("p99.9-ns", 0.999, "latency that one operation in 1,000 exceeds; only if at least ten timed ones did"),
	{unit: "aborts/op", better: "lower", digits: -1,
		doc:   "attempts that did not commit and were made again, for each committed operation",
		value: always(bench.Measurement.AbortsPerOp)},
	{unit: "cpu-ns/op", better: "lower", digits: -1,
		doc:   "processor time of the whole process for each operation, garbage collection and background work included",
		value: func(_ bench.Config, m bench.Measurement) (float64, bool) { return m.CPUNsPerOp() }},
	{unit: "B/op", better: "lower", digits: 1,
		doc:   "bytes allocated for each operation; the harness allocates none",
		value: always(bench.Measurement.BytesPerOp)},
	{unit: "allocs/op", better: "lower", digits: 2,
		doc:   "objects allocated for each operation",
		value: always(bench.Measurement.AllocsPerOp)},
	{unit: "audits/s", better: "higher", digits: 1,
		doc: "full scans with a correct sum made meanwhile; transfer only",
		value: func(c bench.Config, m bench.Measurement) (float64, bool) {
			return m.AuditsPerSecond(), c.Workload.HasAudits()
		}},
}

func always(f func(m bench.Measurement) float64) func(bench.Config, bench.Measurement) (float64, bool) {
	return func(_ bench.Config, m bench.Measurement) (float64, bool) { return f(m), true }
}

func quantile(unit string, q float64, doc string) metric {
	return metric{unit: unit, better: "lower", doc: doc, value: func(_ bench.Config, m bench.Measurement) (float64, bool) {
		d, ok := m.Quantile(q)
		return float64(d.Nanoseconds()), ok
	}}
}

// format writes v with as many digits as mean something: four significant ones
// if digits is negative.
func (m metric) format(v float64) string {
	if m.digits >= 0 {
		return trimZeros(strconv.FormatFloat(v, 'f', m.digits, 64))
	}
	if v == 0 {
		return "0"
	}
	digits := 3 - int(math.Floor(math.Log10(math.Abs(v))))
	return trimZeros(strconv.FormatFloat(v, 'f', min(max(digits, 0), 9), 64))
}

// trimZeros takes away zeros after the point that say nothing.
func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// results writes the Go benchmark format. Whatever differs between two runs that
// one would want to compare is in comment lines: a configuration line that
// differs would keep benchstat from comparing them.
type results struct {
	w    *bufio.Writer
	file *os.File // nil if w writes to standard output
	pad  int      // width of the names
	err  error    // the first
}

// openResults writes to the named file, which it creates or truncates, or to
// stdout if name is empty.
func openResults(name string, stdout io.Writer) (*results, error) {
	if name == "" {
		return &results{w: bufio.NewWriter(stdout)}, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	return &results{w: bufio.NewWriter(f), file: f}, nil
}

func (r *results) printf(format string, args ...any) {
	if r.err == nil {
		_, r.err = fmt.Fprintf(r.w, format, args...)
	}
}

// comment writes a line that readers of the format skip.
func (r *results) comment(format string, args ...any) {
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	for line := range strings.SplitSeq(text, "\n") {
		r.printf("# %s\n", line)
	}
}

// flush makes what has been written visible, and returns the first error.
func (r *results) flush() error {
	if r.err == nil {
		r.err = r.w.Flush()
	}
	return r.err
}

func (r *results) close() error {
	err := r.flush()
	if r.file != nil {
		if e := r.file.Close(); err == nil {
			err = e
		}
	}
	return err
}

// header writes what the results were measured with.
func (r *results) header() {
	for _, m := range metrics {
		r.printf("Unit %s better=%s\n", m.unit, m.better)
	}
	r.printf("goos: %s\ngoarch: %s\npkg: github.com/mvccmap/mvccmap/cmd/mvccbench\n", runtime.GOOS, runtime.GOARCH)
	if cpu := cpuName(); cpu != "" {
		r.printf("cpu: %s\n", cpu)
	}
	r.printf("\n")
}

// result writes the line of one sample.
func (r *results) result(c bench.Config, m bench.Measurement) {
	r.printf("Benchmark%-*s\t%9d", r.pad, resultName(c), m.Ops)
	for _, metric := range metrics {
		if v, ok := metric.value(c, m); ok {
			r.printf("\t%8s %s", metric.format(v), metric.unit)
		}
	}
	r.printf("\n")
}

// resultName returns the name of a sample's benchmark, without "Benchmark". What
// was measured otherwise than by default is part of it.
func resultName(c bench.Config) string {
	name := c.Workload.Title()
	if c.Isolation == bench.Snapshot {
		name += "/isolation=snapshot"
	}
	if c.Workload.HasAudits() && c.AuditInterval != bench.DefaultAuditInterval {
		name += "/audit-interval=" + c.AuditInterval.String()
	}
	name += fmt.Sprintf("/engine=%s/threads=%d", c.Engine.Name, c.Threads)
	if p := runtime.GOMAXPROCS(0); p > 1 {
		name += fmt.Sprintf("-%d", p)
	}
	return name
}

// cpuName returns the processor's name as the system gives it, or "".
func cpuName() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
