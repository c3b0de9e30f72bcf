package mvcc_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/proof/history"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Random transactions on the real map, many at a time on few keys, recorded and
// checked: see package history. A history that breaks a promise is kept as a file.

// A historyTest is a mixture of transactions.
type historyTest struct {
	name   string
	change func(cfg *history.Config)
}

var historyTests = []historyTest{
	{"serializable", func(cfg *history.Config) { cfg.Snapshot = 0 }},
	{"snapshot", func(cfg *history.Config) { cfg.Snapshot = 100 }},
	{"mixed", func(*history.Config) {}},
	{"two keys", func(cfg *history.Config) { cfg.Keys, cfg.Snapshot = 2, 20 }},
	{"deletes", func(cfg *history.Config) {
		cfg.Delete, cfg.Write, cfg.Keys, cfg.Snapshot = 60, 70, 3, 0
	}},
	{"scans", func(cfg *history.Config) {
		cfg.Scan, cfg.Keys, cfg.MaxOps, cfg.Snapshot = 50, 12, 3, 20
	}},
	{"one-key", func(cfg *history.Config) { cfg.OneKey, cfg.Keys, cfg.Snapshot = 70, 3, 0 }},
	// Long validations beside one-key operations.
	{"wide", func(cfg *history.Config) {
		cfg.Keys, cfg.MaxOps, cfg.Write, cfg.OneKey, cfg.ReadOnly, cfg.Snapshot = 40, 30, 10, 60, 10, 0
	}},
	{"in place", func(cfg *history.Config) { cfg.Delete, cfg.Keys = 0, 3 }},
	{"past", func(cfg *history.Config) {
		cfg.Past, cfg.Keys = 30, 3
		cfg.Options = &mvcc.Options{
			ReclaimInterval: time.Millisecond, PruneThreshold: 2, Retain: 20 * time.Millisecond,
		}
	}},
	{"committers prune", func(cfg *history.Config) {
		cfg.Options = &mvcc.Options{ReclaimWorkers: -1, PruneThreshold: 1}
	}},
	// Over two ordered tables, with ranges and an index: the predicates of phantoms and of write skew.
	{"tables/serializable", func(cfg *history.Config) {
		cfg.Tables, cfg.Scan, cfg.Snapshot = true, 40, 0
	}},
	{"tables/mixed", func(cfg *history.Config) { cfg.Tables, cfg.Scan = true, 40 }},
	{"tables/deletes", func(cfg *history.Config) {
		cfg.Tables, cfg.Scan, cfg.Delete, cfg.Write, cfg.Keys, cfg.Snapshot = true, 40, 60, 60, 4, 0
	}},
	{"tables/one-key", func(cfg *history.Config) {
		cfg.Tables, cfg.Scan, cfg.OneKey, cfg.Keys, cfg.Snapshot = true, 40, 60, 4, 0
	}},
	{"tables/committers prune", func(cfg *history.Config) {
		cfg.Tables, cfg.Scan = true, 40
		cfg.Options = &mvcc.Options{ReclaimWorkers: -1, PruneThreshold: 1}
	}},
}

// checkHistory records a history and checks it.
func checkHistory(t *testing.T, cfg history.Config) {
	t.Helper()
	h, err := history.Record(t.Context(), cfg)
	require.NoError(t, err)
	r := history.Check(h, 0)
	if r.OK() {
		return
	}
	text := r.String()
	if len(text) > 8000 {
		text = text[:8000] + "..."
	}
	file := filepath.Join(os.TempDir(), "mvcc-history.jsonl")
	if f, err := os.Create(file); err == nil {
		_ = h.Write(f)
		_ = f.Close()
	}
	require.Fail(t, "the history breaks a promise", "%s\nseed %d, the history is in %s",
		text, cfg.Seed, file)
}

// TestHistories: transactions at one level and one-key operations are strictly
// serializable; with others at snapshot level among them, each keeps its promise.
func TestHistories(t *testing.T) {
	for _, test := range historyTests {
		t.Run(test.name, func(t *testing.T) {
			for i := range uint64(stage.Sizes(3, 1)) {
				cfg := history.Mixed(history.KindAppend, 1+i)
				cfg.Txs = stage.Sizes(4000, 1500)
				test.change(&cfg)
				checkHistory(t, cfg)
			}
		})
	}
}
