package otel_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/otel"
	"github.com/mvccmap/mvccmap/profiling/prom"
)

// A backend keeps all that is sent to it.
type backend struct {
	spans  *tracetest.SpanRecorder
	traces *sdktrace.TracerProvider
	reader *sdkmetric.ManualReader
	cfg    otel.Config
}

func newBackend() backend {
	b := backend{spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	b.traces = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(b.spans))
	b.cfg = otel.Config{TracerProvider: b.traces,
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(b.reader))}
	return b
}

// metrics returns the figures, by name.
func (b backend) metrics(t *testing.T) map[string]metricdata.Aggregation {
	t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(t, b.reader.Collect(t.Context(), &rm))
	all := map[string]metricdata.Aggregation{}
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			all[m.Name] = m.Data
		}
	}
	return all
}

func attributes(list []attribute.KeyValue) map[string]any {
	all := map[string]any{}
	for _, a := range list {
		all[string(a.Key)] = a.Value.AsInterface()
	}
	return all
}

// conflicted updates the key 1 by a transaction that conflicts once.
func conflicted(t *testing.T, ctx context.Context, m *mvcc.Map[int, int]) {
	t.Helper()
	runs := 0
	opts := &mvcc.TxOptions{Name: "count"}
	require.NoError(t, m.Update(ctx, opts, func(tx mvcc.Tx[int, int]) error {
		n, _ := tx.Get(1)
		if runs++; runs == 1 {
			done := make(chan bool)
			go func() { m.Store(1, 10); close(done) }()
			<-done
		}
		tx.Set(1, n+1)
		return nil
	}))
}

func TestAttempts(t *testing.T) {
	b := newBackend()
	observe, err := otel.Attempts(b.cfg)
	require.NoError(t, err)
	db := mvcc.NewDB(&mvcc.Options{Observe: observe})
	defer db.Close()
	m := mvcc.NewTable[int, int](db, "counters", nil)
	ctx, parent := b.traces.Tracer("test").Start(t.Context(), "request")
	conflicted(t, ctx, m)
	at := db.Epoch()
	_, err = mvcc.NewIndex(m, "all", func(int, int) []int { return []int{777} },
		&mvcc.IndexOptions{Unique: true})
	require.NoError(t, err)
	require.Error(t, m.Update(t.Context(), nil, func(tx mvcc.Tx[int, int]) error {
		tx.Set(2, 2)
		return nil
	}))
	unique := b.spans.Ended()[2]
	require.Equal(t, `mvcc: index "all" of table "counters" is unique`, unique.Status().Description)
	failed := errors.New("failed")
	require.Equal(t, failed, db.Update(t.Context(), nil, func(mvcc.DBTx) error { return failed }))
	require.Panics(t, func() {
		_ = db.Update(t.Context(), nil, func(mvcc.DBTx) error { panic("oh") })
	})

	ended := b.spans.Ended()
	require.Len(t, ended, 5)
	first, second, third, fourth := ended[0], ended[1], ended[3], ended[4]
	require.Equal(t, "mvcc.update count", first.Name())
	require.Equal(t, parent.SpanContext().SpanID(), first.Parent().SpanID())
	require.Equal(t, codes.Error, first.Status().Code)
	require.Equal(t, `mvcc: transaction conflict: read conflict in table "counters"`,
		first.Status().Description)
	a := attributes(first.Attributes())
	require.Equal(t, "conflict", a["mvcc.outcome"])
	require.Equal(t, "counters", a["mvcc.table"])
	require.NotContains(t, a, "mvcc.key")
	require.EqualValues(t, 1, a["mvcc.attempt"])
	require.Equal(t, codes.Unset, second.Status().Code)
	a = attributes(second.Attributes())
	require.Equal(t, "commit", a["mvcc.outcome"])
	require.EqualValues(t, 2, a["mvcc.attempt"])
	require.EqualValues(t, at, a["mvcc.epoch"])
	require.False(t, second.StartTime().Before(first.EndTime()))
	require.Equal(t, "mvcc.update", third.Name())
	require.Equal(t, "error", attributes(third.Attributes())["mvcc.outcome"])
	require.Equal(t, "panic", attributes(fourth.Attributes())["mvcc.outcome"])

	took := b.metrics(t)["mvcc.update.duration"].(metricdata.Histogram[float64])
	counts := map[any]uint64{}
	for _, p := range took.DataPoints {
		counts[attributes(p.Attributes.ToSlice())["mvcc.outcome"]] += p.Count
	}
	require.Equal(t, map[any]uint64{"commit": 1, "conflict": 1, "error": 2, "panic": 1}, counts)
}

// The key is sent if asked for.
func TestConfig(t *testing.T) {
	b := newBackend()
	b.cfg.Keys = true
	withKeys, err := otel.Attempts(b.cfg)
	require.NoError(t, err)
	m := mvcc.New[int, int](&mvcc.Options{Observe: withKeys})
	defer m.Close()
	conflicted(t, t.Context(), m)
	require.Equal(t, "1", attributes(b.spans.Ended()[0].Attributes())["mvcc.key"])
	require.NotEmpty(t, b.metrics(t)["mvcc.update.wait"])
}

func TestFigures(t *testing.T) {
	b := newBackend()
	db := mvcc.NewDB(nil)
	defer db.Close()
	m := mvcc.NewTable[int, int](db, "counters", nil)
	m.Store(1, 1)
	m.Store(2, 2)
	reg, err := otel.Figures(b.cfg, db.Sources("shop"))
	require.NoError(t, err)
	all := b.metrics(t)
	for metric, of := range map[string]string{"mvcc.keys": "shop", "mvcc.table.keys": "shop/counters"} {
		points := all[metric].(metricdata.Gauge[float64]).DataPoints
		require.Len(t, points, 1)
		require.Equal(t, of, attributes(points[0].Attributes.ToSlice())["mvcc.map"])
		require.Equal(t, 2.0, points[0].Value)
	}
	commits := all["mvcc.commits"].(metricdata.Sum[float64])
	require.True(t, commits.IsMonotonic)
	require.Len(t, commits.DataPoints, 1, "a table has no such figure")
	require.Equal(t, 2.0, commits.DataPoints[0].Value)
	require.NoError(t, reg.Unregister())
	require.Empty(t, b.metrics(t))
}

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
