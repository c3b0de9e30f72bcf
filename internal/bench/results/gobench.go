package results

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"
)

// pkgName is the package that benchmarks of mvccbench name.
const pkgName = "github.com/mvccmap/mvccmap/cmd/mvccbench"

// instrumentedKey is the configuration line of an instrumented run. It keeps
// benchstat from comparing such a run with another kind.
const instrumentedKey = "instrumented"

// A BenchWriter writes a run in the Go benchmark format, sample by sample, as they are
// measured. Facts that may differ between two runs to compare are in comment lines:
// benchstat does not compare runs with different configuration lines.
type BenchWriter struct {
	w      *bufio.Writer
	bench  *benchfmt.Writer
	header Header
	units  map[string]bool // units with a line that says which way is better
}

// headerMark begins the comment with the header, for programs that read the file.
const headerMark = "header: "

// NewBenchWriter writes the head of a run to w. Errors are kept for
// [BenchWriter.Flush].
func NewBenchWriter(w io.Writer, h Header) *BenchWriter {
	buf := bufio.NewWriter(w)
	b := &BenchWriter{w: buf, bench: benchfmt.NewWriter(buf), header: h, units: map[string]bool{}}
	for _, line := range Describe(h) {
		b.Comment("%s", line)
	}
	record, _ := json.Marshal(h) // it has nothing that cannot be written
	b.Comment("%s%s", headerMark, record)
	return b
}

// Flush writes the buffer, and returns the first error of writing.
func (b *BenchWriter) Flush() error { return b.w.Flush() }

// Comment writes lines that readers of the format skip.
func (b *BenchWriter) Comment(format string, args ...any) {
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(b.w, "# %s\n", strings.TrimSpace(line))
	}
}

// Sample writes the line of one sample. The line of an interrupted sample is a comment: the sample
// is shorter than others, and must not count.
func (b *BenchWriter) Sample(s *Sample) {
	for _, unit := range benchUnits(s) {
		m, ok := MetricByUnit(unit)
		if !ok || b.units[unit] {
			continue
		}
		b.units[unit] = true
		_ = b.bench.Write(&benchfmt.UnitMetadata{
			UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: unit, Key: "better"},
			OrigUnit:        unit,
			Value:           m.Better,
		})
	}
	result := benchResult(b.header, s)
	if s.Interrupted {
		b.Comment("interrupted: the next sample ran %v of %v", s.Wall.Round(time.Microsecond),
			b.header.Duration)
		var line strings.Builder
		result.Config = nil
		_ = benchfmt.NewWriter(&line).Write(result)
		b.Comment("%s", line.String())
		return
	}
	if s.Noisy != "" {
		b.Comment("%s%s", noisyMark, s.Noisy)
	}
	_ = b.bench.Write(result)
}

// noisyMark begins the comment above a noisy sample.
const noisyMark = "noisy, the next sample: "

// benchUnits returns the units of s that the format has.
func benchUnits(s *Sample) []string {
	return slices.DeleteFunc(Units([]Sample{*s}), func(unit string) bool {
		return slices.Contains(asides, unit)
	})
}

// Instrument says that the samples from now on are instrumented, and how.
func (b *BenchWriter) Instrument(how string) {
	b.header.Instrumented = how
	b.Comment("instrumented from here on: %s", how)
}

// Outcome ends the run. Without its lines a reader takes the run for cut off.
func (b *BenchWriter) Outcome(o Outcome) {
	switch o.Kind {
	case Complete:
		b.Comment("complete: %d of %d samples", o.Done, o.Of)
	case Violated:
		b.Comment("%s\nthe samples above were verified; the run ended here, after %d of %d",
			o.Detail, o.Done, o.Of)
	default:
		b.Comment("%s", o)
	}
}

// benchResult returns s as a result of a Go benchmark.
func benchResult(h Header, s *Sample) *benchfmt.Result {
	r := &benchfmt.Result{
		Name:  benchfmt.Name(s.Name(h.GOMAXPROCS)),
		Iters: int(s.Ops),
	}
	config := func(key, value string) {
		if value != "" {
			r.Config = append(r.Config, benchfmt.Config{Key: key, Value: []byte(oneLine(value)), File: true})
		}
	}
	config("goos", h.GOOS)
	config("goarch", h.GOARCH)
	config("pkg", pkgName)
	config("cpu", h.CPU)
	config(instrumentedKey, h.Instrumented)
	for _, unit := range benchUnits(s) {
		r.Values = append(r.Values, benchfmt.Value{Value: s.Metrics[unit], Unit: unit})
	}
	return r
}

// WriteBench writes a run in the Go benchmark format.
func WriteBench(w io.Writer, r *Run) error {
	b := NewBenchWriter(w, r.Header)
	for i := range r.Samples {
		b.Sample(&r.Samples[i])
	}
	for _, f := range r.Found {
		b.Comment("%s", f)
	}
	b.Outcome(r.Outcome)
	return b.Flush()
}

// DescribeMachine returns, in lines, the command line of a run, the program and
// its machine.
func DescribeMachine(h Header) []string {
	var lines []string
	add := func(format string, args ...any) {
		lines = append(lines, oneLine(fmt.Sprintf(format, args...)))
	}
	name, _, _ := strings.Cut(h.Program, " ")
	add("%s", strings.TrimSpace(name+" "+strings.Join(h.Args, " ")))
	add("%s; %s; %s", h.Program, h.Go, h.Started.UTC().Format(time.RFC3339))
	settings := ""
	for _, name := range slices.Sorted(maps.Keys(h.Settings)) {
		settings += fmt.Sprintf(", %s=%s", name, h.Settings[name])
	}
	add("GOMAXPROCS %d of %d CPUs%s", h.GOMAXPROCS, h.CPUs, settings)
	return lines
}

// Describe returns, in lines, the orders for a run and its machine.
func Describe(h Header) []string {
	lines := DescribeMachine(h)
	add := func(format string, args ...any) {
		lines = append(lines, oneLine(fmt.Sprintf(format, args...)))
	}
	levels := ""
	if len(h.Isolation) > 0 {
		levels = ", " + strings.Join(h.Isolation, " and ")
	}
	add("seed %d, %d x %s after %v of warm-up%s", h.Seed, h.Count, length(&h), h.Warmup, levels)
	if h.Loop != "closed" {
		add("open loop, %s: response times count from when an operation was due; latencies "+
			"include one reading of the clock, %v", h.Loop, h.ClockCost)
	} else {
		add("%s loop: latencies exclude queueing and include one reading of the clock, %v",
			h.Loop, h.ClockCost)
	}
	if h.Instrumented != "" {
		add("INSTRUMENTED: %s; compare these figures with others taken in the same way only",
			h.Instrumented)
	}
	if h.Profiled != "" {
		add("PROFILED: %s", h.Profiled)
	}
	for _, n := range h.Notes {
		add("%s", n)
	}
	for _, s := range h.Skips {
		add("skipped: %s on %s: %s", s.Workload, s.Engine, s.Why)
	}
	return lines
}

// oneLine makes text fit into one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
