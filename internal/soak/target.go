package soak

import (
	"context"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/history"
	"github.com/mvccmap/mvccmap/internal/history/record"
	"github.com/mvccmap/mvccmap/internal/linear"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A Target is what the checks are made on. A field that is nil means the map of
// package mvcc; tests put something faulty there.
type Target struct {
	// Record runs transactions on a new map and records their history.
	Record func(ctx context.Context, c record.Config) (*history.History, error)
	// OneKey wraps the map whose one-key operations are recorded.
	OneKey func(m linear.Map) linear.Map
	// Bank wraps the engine that transfers are made on.
	Bank func(e bench.Engine) bench.Engine
	// Hold is called with each map of the reclaim check before its end.
	Hold func(m *mvcc.Map[*Thing, *Thing])
	// Stats returns the statistics of a map of the growth check.
	Stats func(m *mvcc.Map[int, int64]) mvcc.Stats
}

func (t Target) orDefault() Target {
	if t.Record == nil {
		t.Record = record.Run
	}
	if t.OneKey == nil {
		t.OneKey = func(m linear.Map) linear.Map { return m }
	}
	if t.Bank == nil {
		t.Bank = func(e bench.Engine) bench.Engine { return e }
	}
	if t.Hold == nil {
		t.Hold = func(*mvcc.Map[*Thing, *Thing]) {}
	}
	if t.Stats == nil {
		t.Stats = (*mvcc.Map[int, int64]).Stats
	}
	return t
}
