package cli

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/results"
)

// figures returns the figures of a measurement by unit; each is described in
// [results.Metrics].
func figures(c bench.Config, m bench.Measurement) map[string]float64 {
	f := map[string]float64{}
	set := func(unit string, v float64, ok bool) {
		if !ok {
			return
		}
		metric, known := results.MetricByUnit(unit)
		if !known {
			panic("cli: a figure that nobody describes: " + unit)
		}
		f[unit] = metric.Round(v)
	}
	latencies := func(prefix string, d bench.Distribution) {
		for _, q := range results.Quantiles {
			t, ok := d.Quantile(q.Q)
			set(prefix+q.Unit, float64(t), ok)
		}
		set(prefix+"max-ns", float64(d.Max()), d.Count() > 0)
	}
	set("ns/op", m.NsPerOp(), true)
	set("ops/s", m.OpsPerSecond(), true)
	latencies("", m.Service)
	if m.Rate > 0 {
		latencies(results.ResponsePrefix, m.Response)
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
	return f
}

// sampleOf returns the record of a measurement.
func sampleOf(c bench.Config, m bench.Measurement) (results.Sample, error) {
	level := c.Isolation
	if level == "" {
		level = bench.Serializable
	}
	s := results.Sample{
		Workload:      c.Workload.Name,
		Title:         title(c),
		Params:        parameters(c),
		Engine:        c.Engine.Name,
		Level:         string(level),
		Threads:       c.Threads,
		Index:         c.Sample,
		Ops:           m.Ops,
		Wall:          m.Wall,
		Interrupted:   m.Interrupted,
		LatencySample: max(m.LatencySample, 0),
		Metrics:       figures(c, m),
	}
	add := func(kind string, d bench.Distribution) error {
		if d.Count() == 0 {
			return nil
		}
		l, err := results.NewLatency(kind, nanoseconds(d.All()), int64(d.Max()))
		s.Latency = append(s.Latency, l)
		return err
	}
	if err := add(results.Service, m.Service); err != nil {
		return s, err
	}
	if m.Rate > 0 {
		return s, add(results.Response, m.Response)
	}
	return s, nil
}

func nanoseconds(times iter.Seq2[time.Duration, uint64]) iter.Seq2[int64, uint64] {
	return func(yield func(int64, uint64) bool) {
		for t, n := range times {
			if !yield(int64(t), n) {
				return
			}
		}
	}
}

// title returns the name of a sample without engine and threads.
func title(c bench.Config) string {
	name, _, _ := strings.Cut(c.Workload.Title(), "/")
	for _, l := range c.Labels() {
		if l.Key != "engine" && l.Key != "threads" {
			name += "/" + l.Key + "=" + l.Value
		}
	}
	return name
}

// parameters returns all parameters of the workload, and what else is in the name
// of a sample, named as their flags.
func parameters(c bench.Config) []results.Param {
	var list []results.Param
	add := func(name, value string) {
		for i := range list {
			if list[i].Name == name {
				list[i].Value = value
				return
			}
		}
		list = append(list, results.Param{Name: name, Value: value})
	}
	p := c.Workload.Params
	if p.Keys != bench.Unset {
		add("keys", fmt.Sprint(p.Keys))
	}
	if p.ReadPct != bench.Unset {
		add("read-pct", fmt.Sprint(p.ReadPct))
	}
	if p.Theta != bench.Unset {
		add("theta", fmt.Sprint(p.Theta))
	}
	if p.TxnSize != 0 {
		add("txn-size", fmt.Sprint(p.TxnSize))
	}
	if p.KeyType != "" {
		add("key-type", string(p.KeyType))
	}
	if p.ValueSize.Min == p.ValueSize.Max && p.ValueSize.Max != 0 {
		add("value-size", fmt.Sprint(p.ValueSize.Max))
	} else if p.ValueSize.Max != 0 {
		add("value-size", fmt.Sprintf("%d-%d", p.ValueSize.Min, p.ValueSize.Max))
	}
	for _, l := range c.Labels() {
		if l.Key != "engine" && l.Key != "threads" {
			add(l.Key, l.Value)
		}
	}
	return list
}
