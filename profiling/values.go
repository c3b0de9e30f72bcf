package profiling

import (
	"math"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/profiling/internal/charts"
	"github.com/mvccmap/mvccmap/profiling/prom"
)

// valueCharts returns the charts of values, whose function is called once now, for what there is.
func valueCharts(name string, values func() []prom.Value) charts.Group {
	s := &charts.Source[[]prom.Value]{Read: values}
	g := charts.Group{Title: name, Source: s}
	for i, v := range values() {
		if v.Chart == "" {
			continue
		}
		at := slices.IndexFunc(g.Charts, func(c charts.Chart) bool { return c.Title == v.Chart })
		if at < 0 {
			at = len(g.Charts)
			g.Charts = append(g.Charts, charts.Chart{Title: v.Chart})
		}
		c := &g.Charts[at]
		of := func(all []prom.Value) float64 {
			if i >= len(all) {
				return math.NaN()
			}
			return all[i].Value
		}
		line := s.Gauge
		if strings.HasSuffix(v.Metric, "_total") {
			line, c.Unit = s.Rate, charts.PerSecond
		}
		c.Series = append(c.Series, line(v.Name, of))
	}
	return g
}
