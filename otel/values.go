package otel

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/mvccmap/mvccmap/profiling/prom"
)

// Values registers further figures as metrics, which are read whenever the provider collects, as
// those of Values of a replica of module etcd. The names are those for Prometheus, with dots and
// without the end _total, as mvccmap.etcd.commits; the attribute mvcc.of is the key of sources.
// Each function is called once now, for the names of its figures. Unregister ends the metrics.
func Values(cfg Config, sources map[string]func() []prom.Value) (metric.Registration, error) {
	meter := cfg.meter()
	instruments := map[string]metric.Float64Observable{}
	var list []metric.Observable
	of := maps.Clone(sources)
	names := slices.Sorted(maps.Keys(of))
	for _, name := range names {
		for _, v := range of[name]() {
			if instruments[v.Metric] != nil {
				continue
			}
			name, counter := strings.CutSuffix(v.Metric, "_total")
			one, err := instrument(meter, strings.ReplaceAll(name, "_", "."), "1", v.Help, counter)
			if err != nil {
				return nil, fmt.Errorf("otel: %w", err)
			}
			instruments[v.Metric], list = one, append(list, one)
		}
	}
	reg, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, name := range names {
			set := metric.WithAttributes(attribute.String("mvcc.of", name))
			for _, v := range of[name]() {
				if one := instruments[v.Metric]; one != nil {
					o.ObserveFloat64(one, v.Value, set)
				}
			}
		}
		return nil
	}, list...)
	if err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	return reg, nil
}

func instrument(
	meter metric.Meter, name, unit, help string, counter bool,
) (metric.Float64Observable, error) {
	if counter {
		return meter.Float64ObservableCounter(name, metric.WithDescription(help), metric.WithUnit(unit))
	}
	return meter.Float64ObservableGauge(name, metric.WithDescription(help), metric.WithUnit(unit))
}
