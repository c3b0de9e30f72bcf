// Package prom exports the statistics of maps to Prometheus, for programs that
// use it. It is a package of its own so that others need not build its client.
//
// [Handler] is all that a program without metrics of its own needs, alone or
// beside the profiles of package profiling:
//
//	maps := map[string]func() mvcc.Stats{"accounts": accounts.Stats}
//	srv, err := profiling.Start(profiling.Config{Maps: maps, Metrics: prom.Handler(maps)})
//
// A program that has a registry registers a [NewCollector] there:
//
//	prometheus.MustRegister(prom.NewCollector(maps))
//
// All metrics are named mvccmap_..., and have the name of the map as label "map".
package prom

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Handler answers with the metrics of the maps, of the Go runtime and of the
// process, in the formats that Prometheus reads. It has a registry of its own.
// For each request it calls every function once, see [NewCollector].
func Handler(maps map[string]func() mvcc.Stats) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(
		NewCollector(maps),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{Registry: r})
}

// NewCollector returns a collector of the statistics of the maps, by name: for
// each, [mvcc.Map.Stats] of a map, or a function that returns those of the map
// that is in use at present, and zero Stats if there is none, which then is left
// out. Each is called once for every collection, by one goroutine at a time.
func NewCollector(sources map[string]func() mvcc.Stats) prometheus.Collector {
	c := &collector{sources: maps.Clone(sources), names: slices.Sorted(maps.Keys(sources)), last: map[string]mvcc.Stats{}}
	for _, name := range c.names {
		c.labels = append(c.labels, strings.ToValidUTF8(name, "\uFFFD")) // one other would spoil all metrics
	}
	for _, m := range metrics {
		c.descs = append(c.descs, prometheus.NewDesc("mvccmap_"+m.name, m.help, append([]string{"map"}, m.labels()...), nil))
	}
	return c
}

// A collector implements [prometheus.Collector].
type collector struct {
	sources map[string]func() mvcc.Stats
	names   []string
	labels  []string           // what the maps are called, in the order of names
	descs   []*prometheus.Desc // of metrics, in their order

	mu   sync.Mutex
	last map[string]mvcc.Stats // of the previous collection
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, name := range c.names {
		s := c.sources[name]()
		if s.Epoch == 0 {
			delete(c.last, name)
			continue // there is no map at present, and the next will be another one
		}
		// Commits may fall by the few that are under way and fail. To
		// Prometheus a counter that falls has begun anew, and all of it would
		// count as growth. A map that is another one has begun anew indeed.
		if last := c.last[name]; last.Epoch <= s.Epoch {
			s.Commits = max(s.Commits, last.Commits)
		}
		c.last[name] = s
		for i, m := range metrics {
			for _, v := range m.values {
				labels := []string{c.labels[k]}
				if m.label != "" {
					labels = append(labels, v.label)
				}
				ch <- prometheus.MustNewConstMetric(c.descs[i], m.kind, v.of(s), labels...)
			}
		}
	}
}
