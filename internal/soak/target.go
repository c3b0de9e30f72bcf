package soak

import (
	"context"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/history"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A Target is what the checks are made on. A field that is nil, or an engine without
// a name, means the map of package mvcc; tests put something faulty there.
type Target struct {
	// Record records what goroutines do with a new map.
	Record func(ctx context.Context, c history.Config) (*history.History, error)
	// Bank is the engine that transfers are made on.
	Bank bench.EngineSpec
	// Hold is called with each map of the reclaim check before its end.
	Hold func(m *mvcc.Map[*Thing, *Thing])
	// Copied is called with each copy, and what has made it, before it is compared.
	Copied func(by string, accounts map[int]int64)
	// Stats returns the statistics of a map of the growth check.
	Stats func(m *mvcc.Map[int, int64]) mvcc.Stats
}

func (t Target) orDefault() Target {
	if t.Record == nil {
		t.Record = history.Record
	}
	if t.Bank.Name == "" {
		t.Bank, _ = bench.EngineByName("mvcc")
	}
	if t.Hold == nil {
		t.Hold = func(*mvcc.Map[*Thing, *Thing]) {}
	}
	if t.Stats == nil {
		t.Stats = (*mvcc.Map[int, int64]).Stats
	}
	return t
}
