package otel_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/mvccmap/mvccmap/otel"
	"github.com/mvccmap/mvccmap/profiling/prom"
)

// Values are metrics, of the kinds that their names say, until they are unregistered.
func TestValues(t *testing.T) {
	b := newBackend()
	reg, err := otel.Values(b.cfg, map[string]func() []prom.Value{"shop": func() []prom.Value {
		return []prom.Value{{Metric: "shop_commits_total", Help: "Commits.", Value: 7},
			{Metric: "shop_lag", Help: "Lag.", Value: 9}}
	}})
	require.NoError(t, err)
	all := b.metrics(t)
	sum := all["shop.commits"].(metricdata.Sum[float64])
	require.True(t, sum.IsMonotonic)
	require.Equal(t, 7.0, sum.DataPoints[0].Value)
	gauge := all["shop.lag"].(metricdata.Gauge[float64])
	require.Equal(t, 9.0, gauge.DataPoints[0].Value)
	require.Equal(t, map[string]any{"mvcc.of": "shop"}, attributes(gauge.DataPoints[0].Attributes.ToSlice()))
	require.NoError(t, reg.Unregister())
	require.NotContains(t, b.metrics(t), "shop.lag")
}
