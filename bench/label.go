package bench

import (
	"slices"
	"strconv"
	"strings"
)

// A Label is a property that distinguishes samples. Key and Value are those of the command line of
// mvccbench, without the dashes: threads and 8.
type Label struct{ Key, Value string }

// Name returns the name of the samples of c in the form of a Go benchmark without
// "Benchmark", as in "ReadHeavy/theta=0.5/engine=mvcc/threads=4". It contains
// everything that is not the default, so that results of different work are
// never compared.
func (c Config) Name() string {
	var b strings.Builder
	b.WriteString(c.Workload.Title())
	for _, l := range c.Labels() {
		b.WriteString("/" + l.Key + "=" + l.Value)
	}
	return b.String()
}

// Labels returns the parts of [Config.Name] beside the workload, in the same order:
// parameters that are not the default or were varied, the engine, and the threads.
func (c Config) Labels() []Label {
	var list []Label
	add := func(key, value string, ok bool) {
		if ok || slices.Contains(c.Swept, key) {
			list = append(list, Label{key, value})
		}
	}
	usual := c.Workload.defaults()
	for _, p := range params {
		if value, has := p.value(c.Workload.Params); has {
			other, _ := p.value(usual)
			add(p.key, value, value != other)
		}
	}
	add("rate", strconv.FormatFloat(c.Rate, 'f', -1, 64), c.Rate > 0)
	add("arrival", string(c.Arrival), c.Rate > 0 && c.Arrival == PoissonArrivals)
	add("retries", strconv.Itoa(c.Attempts-1), c.Attempts > 0)
	level := c.Level()
	if len(c.Engine.Levels) > 0 || !slices.Contains(c.Swept, "isolation") {
		add("isolation", string(level), level != Serializable)
	}
	add("audit-interval", c.AuditInterval.String(),
		c.Workload.HasAudits() && !c.Workload.restless && c.AuditInterval != DefaultAuditInterval)
	add("latency-sample", "off", c.LatencySample == NoLatency)
	return append(list, Label{"engine", c.Engine.Name}, Label{"threads", strconv.Itoa(c.Threads)})
}

// swept returns the keys of the labels in which the samples of some variants of one workload
// differ, without engine and threads.
func (s Sweep) swept(variants []Workload) []string {
	var keys []string
	for _, p := range params {
		first, _ := p.value(variants[0].Params)
		if slices.ContainsFunc(variants, func(w Workload) bool {
			value, _ := p.value(w.Params)
			return value != first
		}) {
			keys = append(keys, p.key)
		}
	}
	for key, varies := range map[string]bool{
		"rate": len(s.Rates) > 1, "isolation": len(s.Isolations) > 1,
	} {
		if varies {
			keys = append(keys, key)
		}
	}
	return keys
}
