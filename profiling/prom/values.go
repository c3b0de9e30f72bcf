package prom

import (
	"maps"
	"slices"

	"github.com/mvccmap/mvccmap/internal/brief"
)

// A Value is one figure of something that is no map: of a replica of module etcd, say.
type Value struct {
	// Metric is the name, in words joined by _; that of a counter ends with _total.
	Metric string
	Help   string // one sentence
	// Chart is the title of the chart that the dashboard of package profiling draws it in, "" for
	// none, and Name what it is called there. A counter is drawn by its growth.
	Chart, Name string
	Value       float64

	_ struct{}
}

// writeValues writes the metrics of values, metric by metric.
func writeValues(t *text, sources map[string]func() []Value) {
	type one struct {
		of string
		Value
	}
	var names brief.Names
	byMetric := map[string][]one{}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		of := names.Valid(name)
		for _, v := range sources[name]() {
			byMetric[v.Metric] = append(byMetric[v.Metric], one{of, v})
		}
	}
	for _, metric := range slices.Sorted(maps.Keys(byMetric)) {
		for _, v := range byMetric[metric] {
			t.head(metric, kindOf(metric), v.Help)
			t.value(metric, v.Value.Value, "of", v.of)
		}
	}
}
