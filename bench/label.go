package bench

import (
	"slices"
	"strconv"
	"strings"
)

// A Label is something that distinguishes samples, as it is named and given on
// the command line of mvccbench, without the dashes: threads and 8.
type Label struct{ Key, Value string }

// labelOrder is the order of the labels in a name. Those that are not here come
// where they first turn up, before the engine.
var labelOrder = []string{
	"keys", "read-pct", "theta", "txn-size", "key-type", "value-size",
	"rate", "arrival", "retries", "isolation", "audit-interval",
	"gc-interval", "gc-workers", "gc-queue", "gc-threshold", "latency-sample",
}

// Name returns the name of the samples of c in the form of a Go benchmark without
// "Benchmark", as in "ZipfRead/theta=0.5/engine=mvcc/threads=4". It contains
// everything that is not the default, so that results of different work are
// never compared.
func (c Config) Name() string {
	title, _, _ := strings.Cut(c.Workload.Title(), "/")
	var b strings.Builder
	b.WriteString(title)
	for _, l := range c.Labels() {
		b.WriteString("/" + l.Key + "=" + l.Value)
	}
	return b.String()
}

// Labels returns what is part of [Config.Name] beside the workload, in the same
// order: what is not the default or was varied, the engine, and the threads.
func (c Config) Labels() []Label {
	var list []Label
	add := func(key, value string, ok bool) {
		has := slices.ContainsFunc(list, func(l Label) bool { return l.Key == key })
		if !has && (ok || slices.Contains(c.Swept, key)) {
			list = append(list, Label{key, value})
		}
	}
	title := c.Workload.Title()
	if c.Engine.Reclaims {
		title += c.Map.Title()
	}
	for part := range strings.SplitSeq(title, "/") {
		if key, value, ok := strings.Cut(part, "="); ok {
			add(key, value, true)
		}
	}
	for _, key := range c.Swept {
		if value, ok := c.Workload.Params.value(key); ok {
			add(key, value, true)
		}
	}
	add("rate", strconv.FormatFloat(c.Rate, 'f', -1, 64), c.Rate > 0)
	add("arrival", string(c.Arrival), c.Rate > 0 && c.Arrival == PoissonArrivals)
	add("retries", strconv.Itoa(c.Attempts-1), c.Attempts > 0)
	level := c.Isolation
	if level == "" {
		level = Serializable
	}
	if len(c.Engine.Levels) > 0 || !slices.Contains(c.Swept, "isolation") {
		add("isolation", string(level), level != Serializable)
	}
	add("audit-interval", c.AuditInterval.String(), c.Workload.HasAudits() && c.AuditInterval != DefaultAuditInterval)
	if c.Engine.Reclaims && slices.Contains(c.Swept, "gc-workers") {
		add("gc-workers", "default", true)
	}
	add("latency-sample", c.latencySample(), c.LatencySample == NoLatency)

	rank := func(l Label) int {
		if i := slices.Index(labelOrder, l.Key); i >= 0 {
			return i
		}
		return len(labelOrder)
	}
	slices.SortStableFunc(list, func(a, b Label) int { return rank(a) - rank(b) })
	return append(list, Label{"engine", c.Engine.Name}, Label{"threads", strconv.Itoa(c.Threads)})
}

// latencySample returns c.LatencySample as it is given on the command line.
func (c Config) latencySample() string {
	switch c.LatencySample {
	case 0:
		return "auto"
	case NoLatency:
		return "off"
	}
	return strconv.Itoa(c.LatencySample)
}

// swept returns the keys of the labels in which the samples of some variants of
// one workload differ, but for engine and threads.
func (s Sweep) swept(variants []Workload) []string {
	var keys []string
	for _, key := range labelOrder {
		first, _ := variants[0].Params.value(key)
		if slices.ContainsFunc(variants, func(w Workload) bool {
			value, _ := w.Params.value(key)
			return value != first
		}) {
			keys = append(keys, key)
		}
	}
	if len(s.Rates) > 1 {
		keys = append(keys, "rate")
	}
	if len(s.Isolations) > 1 {
		keys = append(keys, "isolation")
	}
	if len(s.LatencySamples) > 1 {
		keys = append(keys, "latency-sample")
	}
	if slices.ContainsFunc(s.Maps, func(o MapOptions) bool { return o.Workers != s.Maps[0].Workers }) {
		keys = append(keys, "gc-workers")
	}
	return keys
}
