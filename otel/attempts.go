package otel

import (
	"context"
	"errors"
	"fmt"

	otelapi "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/mvccmap/mvccmap/mvcc"
)

const scope = "github.com/mvccmap/mvccmap/otel"

// Config says where to send. Zero fields mean defaults.
type Config struct {
	// TracerProvider and MeterProvider are, by default, the global ones at the time of the call.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// Keys says that a span of a conflict has the key, as package fmt prints it. A key may be a
	// secret, or different each time, so it is never an attribute of metrics.
	Keys bool
}

func (c Config) tracer() trace.Tracer {
	if c.TracerProvider == nil {
		c.TracerProvider = otelapi.GetTracerProvider()
	}
	return c.TracerProvider.Tracer(scope)
}

func (c Config) meter() metric.Meter {
	if c.MeterProvider == nil {
		c.MeterProvider = otelapi.GetMeterProvider()
	}
	return c.MeterProvider.Meter(scope)
}

// buckets are the bounds of durations, in seconds.
var buckets = metric.WithExplicitBucketBoundaries(1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4,
	5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1, 2, 5, 10)

// Attempts returns a function for [mvcc.Options.Observe]. For each attempt of an Update it sends
//
//   - a span "mvcc.update", or "mvcc.update NAME", that is a child of the one in the context of the
//     Update, with the attributes mvcc.attempt, mvcc.epoch, mvcc.conflict and mvcc.table, and an
//     error if it did not commit;
//   - the histograms mvcc.update.duration and mvcc.update.wait, in seconds, by mvcc.transaction,
//     mvcc.outcome (commit, conflict, error or panic), mvcc.conflict and mvcc.table.
//
// The function may be called by any number of goroutines, and waits as long as the providers
// do.
func Attempts(cfg Config) (func(mvcc.Attempt), error) {
	tracer, meter := cfg.tracer(), cfg.meter()
	took, err := meter.Float64Histogram("mvcc.update.duration", metric.WithUnit("s"), buckets,
		metric.WithDescription("How long attempts of transactions took."))
	if err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	waited, err := meter.Float64Histogram("mvcc.update.wait", metric.WithUnit("s"), buckets,
		metric.WithDescription("How long transactions waited before an attempt, for their turn."))
	if err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	return func(a mvcc.Attempt) {
		attrs, key := describe(a)
		set := metric.WithAttributes(attrs...)
		took.Record(a.Context, a.Took.Seconds(), set)
		waited.Record(a.Context, a.Waited.Seconds(), set)
		span(tracer, a, attrs, key, cfg.Keys)
	}, nil
}

// describe returns the attributes of an attempt, and the key of its conflict.
func describe(a mvcc.Attempt) (attrs []attribute.KeyValue, key string) {
	outcome := "commit"
	var conflict *mvcc.ConflictError
	switch {
	case a.Panicked:
		outcome = "panic"
	case errors.As(a.Err, &conflict):
		outcome, key = "conflict", fmt.Sprint(conflict.Key)
		attrs = append(attrs, attribute.String("mvcc.conflict", conflict.Kind.String()),
			attribute.String("mvcc.table", conflict.Table))
	case a.Err != nil:
		outcome = "error"
	}
	return append(attrs, attribute.String("mvcc.transaction", a.Name),
		attribute.String("mvcc.outcome", outcome)), key
}

// span sends an attempt as a span. It begins with the attempt, not with the wait before it.
func span(
	tracer trace.Tracer, a mvcc.Attempt, attrs []attribute.KeyValue, key string, keys bool,
) {
	name := "mvcc.update"
	if a.Name != "" {
		name += " " + a.Name
	}
	_, s := tracer.Start(context.WithoutCancel(a.Context), name, trace.WithTimestamp(a.Began),
		trace.WithAttributes(attrs...), trace.WithAttributes(
			attribute.Int("mvcc.attempt", a.Number),
			attribute.Float64("mvcc.waited", a.Waited.Seconds()),
		))
	if a.Epoch != 0 {
		s.SetAttributes(attribute.Int64("mvcc.epoch", int64(a.Epoch)))
	}
	if keys && key != "" {
		s.SetAttributes(attribute.String("mvcc.key", key))
	}
	switch {
	case a.Panicked:
		s.SetStatus(codes.Error, "the function has panicked, or ended the goroutine")
	case a.Err != nil:
		s.SetStatus(codes.Error, textOf(a.Err, keys))
	}
	s.End(trace.WithTimestamp(a.Began.Add(a.Took)))
}

// textOf returns an error in words, without the keys in those of the library unless keys is set.
func textOf(err error, keys bool) string {
	conflict, lost := errors.AsType[*mvcc.ConflictError](err)
	unique, twice := errors.AsType[*mvcc.UniqueError](err)
	switch {
	case keys:
	case lost:
		return fmt.Sprintf("%v: %v conflict in table %q", mvcc.ErrConflict, conflict.Kind, conflict.Table)
	case twice:
		return fmt.Sprintf("mvcc: index %q of table %q is unique", unique.Index, unique.Table)
	}
	return err.Error()
}
