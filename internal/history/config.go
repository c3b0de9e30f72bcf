package history

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Config says what to record. A count that is zero means its default; a percentage
// that is zero means never. [Mixed] has some of everything.
type Config struct {
	Kind    Kind
	Workers int    // goroutines; default: 8
	Txs     int    // of all workers together, one-key operations included; default: 10,000
	Keys    int    // in use at a time; default: 6
	MaxOps  int    // keys that a transaction touches at most; default: 4
	Seed    uint64 // of the random choices; the same seed is not the same schedule

	// Percentages.
	OneKey   int // of what is run: one-key operations
	ReadOnly int // of what is run: views and snapshots; the rest is never nothing
	Snapshot int // of transactions that may write: run at LevelSnapshot
	Scan     int // of transactions and views: read the whole map
	Write    int // of operations: write; default: 50
	// Past is of transactions and views that have committed: the state at their epoch is read
	// again some time later, if it is still there; see Options.Retain.
	Past int
	// Delete is of writes: delete the key. In append histories the list moves: it is
	// kept under one of two keys of the map, is deleted there and stored under the other.
	Delete int

	// Tables says that the keys are in two ordered tables of a database, one of which has an
	// index, and that what is scanned are ranges. For registers only; there is no Past then.
	Tables bool

	// Options are those of the map. By default versions are dropped as soon as
	// they may be.
	Options *mvcc.Options
}

// Mixed returns a configuration with everything in it that the kind may have.
func Mixed(kind Kind, seed uint64) Config {
	cfg := Config{Kind: kind, Seed: seed, OneKey: 25, ReadOnly: 20, Snapshot: 30, Scan: 5, Delete: 15}
	if kind == KindOneKey {
		cfg = Config{Kind: kind, Seed: seed, OneKey: 80, ReadOnly: 5, Delete: 20, Keys: 3, MaxOps: 2}
	}
	cfg.Past = 5
	return cfg
}

// Record makes a map, has goroutines run what cfg says on it, and returns the
// history. The goroutines share nothing but the map: each keeps its records for
// itself, and stamps them with one monotonic clock. If ctx ends Record stops early,
// and the history is shorter. It returns an error if the map panics, or fails in a
// way that no history shows.
func Record(ctx context.Context, cfg Config) (*History, error) {
	cfg.Workers = cmp.Or(cfg.Workers, 8)
	cfg.Txs = cmp.Or(cfg.Txs, 10_000)
	cfg.Keys = cmp.Or(cfg.Keys, 6)
	cfg.MaxOps = min(cmp.Or(cfg.MaxOps, 4), cfg.Keys)
	cfg.Write = cmp.Or(cfg.Write, 50)
	if cfg.Options == nil {
		cfg.Options = &mvcc.Options{ReclaimInterval: time.Millisecond, PruneThreshold: 2}
	}
	if cfg.Tables && cfg.Kind != KindRegister {
		return nil, errors.New("history: Tables is for registers")
	}
	if cfg.Kind == KindAppend {
		return run(ctx, cfg, newLists)
	}
	return run(ctx, cfg, newRegisters)
}
