package results

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"
)

// interruptedSample is a sample that was interrupted, which is a comment.
var interruptedSample = regexp.MustCompile(`(?m)^(# interrupted: the next sample ran .*\n)# (Benchmark)`)

// readBench returns the record of a run that was written in the Go benchmark
// format. That lacks the histograms of latencies, and the workloads' parameters that
// were left at their defaults.
func readBench(label string, b []byte) (*Run, error) {
	b = interruptedSample.ReplaceAll(b, []byte("$1$2"))
	source, err := parseBench(label, b)
	if err != nil {
		return nil, err
	}
	run := &Run{Header: Header{Loop: "closed"}, Outcome: source.ends.outcome}
	h := &run.Header
	if source.ends.header != nil {
		*h = *source.ends.header
	}
	h.Instrumented = source.Instrumented
	indexes := map[Key]int{}
	for _, rec := range source.Results {
		s, gomaxprocs, err := sampleFromBench(rec)
		_, at := rec.Pos()
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", label, at, err)
		}
		s.Interrupted, s.Noisy = source.ends.interrupted[at], source.ends.noisy[at]
		s.Index = indexes[s.Key()]
		indexes[s.Key()]++
		run.Samples = append(run.Samples, s)
		h.GOOS, h.GOARCH, h.CPU = rec.GetConfig("goos"), rec.GetConfig("goarch"), rec.GetConfig("cpu")
		h.GOMAXPROCS = gomaxprocs
		h.Count = max(h.Count, s.Index+1)
	}
	if len(source.ends.doubts()) == 0 {
		run.Outcome = Outcome{Kind: Complete} // also of others' programs, and of several runs
	}
	run.Outcome.Done = len(run.Samples)
	run.Outcome.Of = max(run.Outcome.Of, run.Outcome.Done)
	return run, nil
}

// sampleFromBench returns the sample with a name made by [Sample.Name], and GOMAXPROCS.
func sampleFromBench(rec *benchfmt.Result) (s Sample, gomaxprocs int, err error) {
	base, parts := rec.Name.Parts()
	s = Sample{Workload: string(base), Title: string(base), Level: "serializable",
		Ops: uint64(rec.Iters), Metrics: map[string]float64{}}
	gomaxprocs = 1
	for _, part := range parts {
		label, isLabel := strings.CutPrefix(string(part), "/")
		name, value, _ := strings.Cut(label, "=")
		switch {
		case !isLabel:
			gomaxprocs, err = strconv.Atoi(strings.TrimPrefix(string(part), "-"))
		case name == "engine":
			s.Engine = value
		case name == "threads":
			s.Threads, err = strconv.Atoi(value)
		default:
			if name == "isolation" {
				s.Level = value
			}
			s.Title += string(part)
			s.Params = append(s.Params, Param{name, value})
		}
		if err != nil {
			return s, 0, fmt.Errorf("result %s: expected a number after %s", rec.Name, name)
		}
	}
	if s.Engine == "" || s.Threads < 1 {
		return s, 0, fmt.Errorf("result %s: its name has no engine= and threads=; only results that "+
			"this program has written can be drawn", rec.Name)
	}
	for _, v := range rec.Values {
		s.Metrics[cmp.Or(v.OrigUnit, v.Unit)] = v.Value
		if v.OrigUnit != "" {
			s.Metrics[v.OrigUnit] = v.OrigValue
		}
	}
	s.Wall = time.Duration(s.Metrics["ns/op"] * float64(s.Ops))
	return s, gomaxprocs, nil
}
