package results

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/hist"
)

// NewSample returns the record of a measurement.
func NewSample(c bench.Config, m bench.Measurement) Sample {
	title, _, _ := strings.Cut(c.Name(), "/engine=")
	s := Sample{
		Workload:      c.Workload.Name,
		Title:         title,
		Params:        Parameters(c),
		Engine:        c.Engine.Name,
		Level:         string(c.Level()),
		Threads:       c.Threads,
		Index:         c.Sample,
		Ops:           m.Ops,
		Wall:          m.Wall,
		Interrupted:   m.Interrupted,
		Noisy:         m.Machine.Noise(),
		LatencySample: max(m.LatencySample, 0),
		Metrics:       figures(c, m),
	}
	s.addLatency(Service, m.Service)
	if m.Rate > 0 { // otherwise they are the same
		s.addLatency(Response, m.Response)
	}
	return s
}

func (s *Sample) addLatency(kind string, d bench.Distribution) {
	if h := histogram(d); h.Count() > 0 {
		s.Latency = append(s.Latency, NewLatency(kind, h))
	}
}

// histogram returns a distribution as it is encoded.
func histogram(d bench.Distribution) *hist.Hist {
	h := new(hist.Hist)
	for t, n := range d.All() {
		h.Add(int64(t), n)
	}
	h.Add(int64(d.Max()), 0)
	return h
}

// figures returns the figures of a measurement by unit; [Metrics] describes each.
func figures(c bench.Config, m bench.Measurement) map[string]float64 {
	f := map[string]float64{}
	set := func(unit string, v float64, ok bool) {
		if metric, known := MetricByUnit(unit); !known {
			panic("results: a figure that nobody describes: " + unit)
		} else if ok {
			f[unit] = metric.Round(v)
		}
	}
	latencies := func(prefix string, d bench.Distribution) {
		for _, q := range Quantiles {
			t, ok := d.Quantile(q.Q)
			set(prefix+q.Unit, float64(t), ok)
		}
		set(prefix+"max-ns", float64(d.Max()), d.Count() > 0)
	}
	set("ns/op", m.NsPerOp(), true)
	set("ops/s", m.OpsPerSecond(), true)
	latencies("", m.Service)
	if m.Rate > 0 {
		latencies(ResponsePrefix, m.Response)
		part, ok := m.Achieved()
		set("achieved-%", 100*part, ok)
		set("backlog", float64(m.Backlog), true)
	}
	set("err/s", m.ErrorsPerSecond(), c.Attempts > 0)
	set("aborts/op", m.AbortsPerOp(), true)
	cpu, ok := m.CPUNsPerOp()
	set("cpu-ns/op", cpu, ok)
	set("B/op", m.BytesPerOp(), true)
	set("allocs/op", m.AllocsPerOp(), true)
	set("gc-%", 100*m.GCShare, true)
	set("gc-pause-%", 100*float64(m.GCPause)/float64(m.Wall), m.Wall > 0)
	set("gc/s", float64(m.GCs)/m.Wall.Seconds(), m.Wall > 0)
	switches, ok := m.SwitchesPerOp()
	set("ctx-switches/op", switches, ok)
	set("process-%", 100*m.Machine.Process, m.Machine.Known)
	set("others-%", 100*m.Machine.Others, m.Machine.Known)
	set("steal-%", 100*m.Machine.Steal, m.Machine.Known)
	set("hiccup-ns", float64(m.Machine.Hiccup), m.Machine.Hiccup > 0)
	if mem := m.Memory; mem != nil {
		set("heap-start-B", float64(mem.HeapStart), true)
		set("heap-peak-B", float64(mem.HeapPeak), true)
		set("heap-end-B", float64(mem.HeapEnd), true)
		counted := mem.VersionsPeak > 0
		set("versions-start", float64(mem.VersionsStart), counted)
		set("versions-peak", float64(mem.VersionsPeak), counted)
		set("versions-end", float64(mem.VersionsEnd), counted)
	}
	set("audits/s", m.AuditsPerSecond(), c.Workload.HasAudits())
	maps.Copy(f, operationFigures(m))
	return f
}

// Parameters returns all parameters of the workload, and the others in the name of a
// sample, named as their flags.
func Parameters(c bench.Config) []Param {
	c.Swept = append(slices.Clone(c.Swept),
		"keys", "read-pct", "theta", "txn-size", "value-size")
	var list []Param
	for _, l := range c.Labels() {
		if l.Key != "engine" && l.Key != "threads" {
			list = append(list, Param{l.Key, l.Value})
		}
	}
	return list
}

// MaxIntervals bounds how many intervals a sample has.
const MaxIntervals = 120

// An Interval has the figures of a sample in a part of its time.
type Interval struct {
	// End is when it ended, since the sample began. It began at the End of the interval before.
	End    time.Duration `json:"end_ns"`
	Ops    uint64        `json:"ops"`
	Aborts uint64        `json:"aborts,omitempty"`
	Errors uint64        `json:"errors,omitempty"`

	// Times of the timed operations of the interval; at a given rate they count from when
	// operations were due. 0 if not known: a percentile is known if ten operations exceeded it.
	P50 int64 `json:"p50_ns,omitempty"`
	P90 int64 `json:"p90_ns,omitempty"`
	P99 int64 `json:"p99_ns,omitempty"`
	Max int64 `json:"max_ns,omitempty"`
}

// Intervals are the intervals of a sample, in order.
type Intervals []Interval

// Add adds the next interval. Above [MaxIntervals] every two become one.
func (list Intervals) Add(i Interval) Intervals {
	if list = append(list, i); len(list) <= MaxIntervals {
		return list
	}
	half := list[:0]
	for ; len(list) > 1; list = list[2:] {
		half = append(half, list[0].and(list[1]))
	}
	return append(half, list...)
}

// End ends the list: it joins a last interval shorter than half of the one before to that one.
func (list Intervals) End() Intervals {
	n := len(list)
	if n < 3 || list[n-1].End-list[n-2].End >= (list[n-2].End-list[n-3].End)/2 {
		return list
	}
	return append(list[:n-2:n-2], list[n-2].and(list[n-1]))
}

// and returns an interval and the next as one. Its times are the longer ones of the two, which the
// times of both together do not exceed.
func (i Interval) and(next Interval) Interval {
	return Interval{
		End: next.End, Ops: i.Ops + next.Ops, Aborts: i.Aborts + next.Aborts,
		Errors: i.Errors + next.Errors, P50: max(i.P50, next.P50), P90: max(i.P90, next.P90),
		P99: max(i.P99, next.P99), Max: max(i.Max, next.Max),
	}
}

// inOrder reports whether each interval ends later than the one before.
func (list Intervals) inOrder() bool {
	at := time.Duration(0)
	for _, i := range list {
		if i.End <= at {
			return false
		}
		at = i.End
	}
	return true
}
