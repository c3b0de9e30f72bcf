// Package record runs random transactions on a map and records their history, for
// package history to check.
//
// The goroutines share nothing but the map. Each keeps its records for itself,
// and stamps them with one monotonic clock.
package record

import (
	"context"
	"fmt"
	"time"

	"github.com/mvccmap/mvccmap/internal/history"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Config says what to run. A count that is zero means its default; a percentage
// that is zero means never. [Mixed] has a bit of everything.
type Config struct {
	// Kind is the kind of values. Default: history.KindAppend.
	Kind history.Kind
	// Workers is the number of goroutines. Default: 8.
	Workers int
	// Txs is how many transactions to run, of all workers together, one-key
	// operations included. Attempts that conflict are recorded on top.
	// Default: 10,000.
	Txs int
	// Keys is how many keys are in use at a time. Default: 6.
	Keys int
	// MaxOps is how many keys a transaction touches at most. Default: 4.
	MaxOps int
	// Seed is where the random choices of the workers start. The schedule is
	// the machine's: the same seed is not the same history.
	Seed uint64

	// OneKey is how many of a hundred are one-key operations.
	OneKey int
	// ReadOnly is how many of a hundred are views and snapshots. The rest, which
	// is never nothing, are transactions that may write.
	ReadOnly int
	// Snapshot is how many of a hundred transactions that may write run at
	// LevelSnapshot; the others run at LevelSerializable.
	Snapshot int
	// Scan is how many of a hundred transactions and views read the whole map.
	Scan int
	// Write is how many of a hundred operations write. Default: 50.
	Write int
	// Delete is how many of a hundred writes delete the key they write. In
	// append histories the list moves: it is kept under one of two keys of
	// the map, is deleted there and stored under the other.
	Delete int

	// Options are those of the map. Default: those of [Brisk].
	Options *mvcc.Options
}

// Brisk returns options with which versions are dropped as soon as they may be.
func Brisk() *mvcc.Options {
	return &mvcc.Options{ReclaimInterval: time.Millisecond, PruneThreshold: 2}
}

// Mixed returns a configuration with everything in it, for the given kind.
func Mixed(kind history.Kind, seed uint64) Config {
	return Config{Kind: kind, Seed: seed, OneKey: 25, ReadOnly: 20, Snapshot: 30, Scan: 5, Delete: 15}
}

// Serializable is Mixed without transactions at LevelSnapshot: its histories are
// promised to be strictly serializable.
func Serializable(kind history.Kind, seed uint64) Config {
	cfg := Mixed(kind, seed)
	cfg.Snapshot = 0
	return cfg
}

// Promise returns what the history of the configuration is promised.
func (cfg Config) Promise() history.Promise {
	if cfg.Snapshot > 0 {
		return history.Snapshot
	}
	return history.StrictSerializable
}

// withDefaults returns cfg with the defaults put in.
func (cfg Config) withDefaults() (Config, error) {
	if cfg.Kind == 0 {
		cfg.Kind = history.KindAppend
	}
	if cfg.Kind != history.KindAppend && cfg.Kind != history.KindRegister {
		return cfg, fmt.Errorf("record: Kind is %v", cfg.Kind)
	}
	for _, f := range []struct {
		name string
		at   *int
		def  int
	}{
		{"Workers", &cfg.Workers, 8},
		{"Txs", &cfg.Txs, 10_000},
		{"Keys", &cfg.Keys, 6},
		{"MaxOps", &cfg.MaxOps, 4},
		{"Write", &cfg.Write, 50},
	} {
		if *f.at < 0 {
			return cfg, fmt.Errorf("record: %s is %d, want more than 0", f.name, *f.at)
		}
		if *f.at == 0 {
			*f.at = f.def
		}
	}
	for _, f := range []struct {
		name string
		pct  int
	}{
		{"OneKey + ReadOnly", cfg.OneKey + cfg.ReadOnly}, {"OneKey", cfg.OneKey}, {"ReadOnly", cfg.ReadOnly},
		{"Snapshot", cfg.Snapshot}, {"Scan", cfg.Scan}, {"Write", cfg.Write}, {"Delete", cfg.Delete},
	} {
		if f.pct < 0 || f.pct > 100 {
			return cfg, fmt.Errorf("record: %s is %d, want 0 to 100", f.name, f.pct)
		}
	}
	cfg.MaxOps = min(cfg.MaxOps, cfg.Keys)
	if cfg.Options == nil {
		cfg.Options = Brisk()
	}
	return cfg, nil
}

// Run makes a map, runs what cfg says on it, and returns the history. If ctx ends
// it stops early, and the history is shorter. It returns an error if cfg has no
// meaning, or if the map fails in a way that is no matter of histories.
func Run(ctx context.Context, cfg Config) (*history.History, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.Kind == history.KindAppend {
		return run(ctx, cfg, newLists)
	}
	return run(ctx, cfg, newRegisters)
}
