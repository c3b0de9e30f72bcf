package otel

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/mvccmap/mvccmap/internal/seam/figures"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Figures registers the figures of maps and databases as metrics, which are read whenever the
// provider collects. These are the fields of [mvcc.Stats], named "mvcc." and their name in JSON
// without "_ns". The attribute mvcc.map is the key of sources, which are as [mvcc.DB.Sources]
// returns them, or "name": m.Stats. A table has few metrics, named "mvcc.table.", since the
// database counts the same. A panic of a source ends a collection; Unregister ends all.
func Figures(cfg Config, sources map[string]func() mvcc.Stats) (metric.Registration, error) {
	meter := cfg.meter()
	type exported struct {
		figures.Figure
		metric.Float64Observable
		ofTables bool
	}
	var all []exported
	var instruments []metric.Observable
	for _, f := range figures.All() {
		unit := cmp.Or(f.Unit, "1")
		if unit == "B" {
			unit = "By"
		}
		for _, ofTables := range []bool{false, true} {
			prefix := "mvcc."
			if ofTables {
				prefix += "table."
			}
			if ofTables && !f.Table {
				continue
			}
			one, err := instrument(meter, prefix+f.Name, unit, f.Help, f.Counter)
			if err != nil {
				return nil, fmt.Errorf("otel: %w", err)
			}
			all, instruments = append(all, exported{f, one, ofTables}), append(instruments, one)
		}
	}
	names := slices.Sorted(maps.Keys(sources))
	of := maps.Clone(sources)
	reg, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, name := range names {
			s := of[name]()
			if s.Epoch == 0 {
				continue // it was closed
			}
			set := metric.WithAttributes(attribute.String("mvcc.map", name))
			for _, f := range all {
				if f.ofTables == figures.OfTable(s) {
					o.ObserveFloat64(f.Float64Observable, f.Of(s), set)
				}
			}
		}
		return nil
	}, instruments...)
	if err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	return reg, nil
}
