package record

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/history"
	"github.com/mvccmap/mvccmap/mvcc"
)

var kinds = []history.Kind{history.KindAppend, history.KindRegister}

// TestRun: there is something of everything in a mixed history, the checker
// accepts it, and it survives being written and read.
func TestRun(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			cfg := Mixed(kind, 1)
			cfg.Txs, cfg.Workers = 3000, 4
			h, err := Run(t.Context(), cfg)
			require.NoError(t, err)
			r := history.CheckWith(h, history.Options{Promise: cfg.Promise(), Opacity: true})
			require.True(t, r.OK(), "%v", r)
			levels, statuses, ops := map[history.Level]int{}, map[history.Status]int{}, map[history.OpKind]int{}
			readers, writers, absent, own, scans := 0, 0, 0, 0, 0
			for i := range h.Txs {
				tx := &h.Txs[i]
				require.Less(t, tx.Begin, tx.End)
				levels[tx.Level]++
				statuses[tx.Status]++
				writes := false
				wrote := map[int]bool{}
				for _, op := range tx.Ops {
					ops[op.Kind]++
					if op.Kind != history.OpRead {
						writes, wrote[op.Key] = true, true
						continue
					}
					if wrote[op.Key] {
						own++
					}
					if !op.Present && op.List == nil {
						absent++
					}
				}
				if writes {
					writers++
				} else {
					readers++
				}
				if tx.Scan || len(tx.Ops) >= cfg.withKeys() {
					scans++
				}
			}
			require.NotZero(t, levels[history.LevelSerializable])
			require.NotZero(t, levels[history.LevelSnapshot])
			require.NotZero(t, levels[history.LevelOneKey])
			require.NotZero(t, statuses[history.StatusAborted])
			require.NotZero(t, ops[history.OpRead])
			require.NotZero(t, readers)
			require.NotZero(t, writers)
			require.NotZero(t, absent)
			require.NotZero(t, scans)
			if kind == history.KindRegister {
				require.NotZero(t, ops[history.OpDelete])
				require.NotZero(t, ops[history.OpWrite])
				require.NotZero(t, own)
			} else {
				require.NotZero(t, ops[history.OpAppend])
			}
			var b bytes.Buffer
			require.NoError(t, h.Write(&b))
			again, err := history.Read(&b)
			require.NoError(t, err)
			r = history.Check(again, cfg.Promise())
			require.True(t, r.OK(), "%v", r)
			require.Len(t, again.Txs, len(h.Txs))
		})
	}
}

func (cfg Config) withKeys() int {
	cfg, _ = cfg.withDefaults()
	return cfg.Keys
}

// TestWriteSkewIsFound: many transactions at snapshot level are not serializable.
func TestWriteSkewIsFound(t *testing.T) {
	for _, kind := range kinds {
		for seed := uint64(1); ; seed++ {
			cfg := Mixed(kind, seed)
			cfg.Txs, cfg.Snapshot, cfg.OneKey, cfg.ReadOnly, cfg.Scan = 2000, 100, 0, 0, 0
			h, err := Run(t.Context(), cfg)
			require.NoError(t, err)
			r := history.Check(h, cfg.Promise())
			require.True(t, r.OK(), "%v", r)
			if r := history.Check(h, history.StrictSerializable); !r.OK() {
				break
			}
			require.Less(t, seed, uint64(200), "no write skew in any history")
		}
	}
}

// TestStoppedEarly: what was recorded before the context ended is a history.
func TestStoppedEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, kind := range kinds {
		h, err := Run(ctx, Mixed(kind, 1))
		require.NoError(t, err)
		require.Len(t, h.Txs, 1, "only the read of everything in the end")
		require.True(t, history.Check(h, history.Snapshot).OK())
	}
}

func TestConfig(t *testing.T) {
	for _, bad := range []Config{
		{Kind: 9}, {Workers: -1}, {Txs: -1}, {Keys: -1}, {MaxOps: -1}, {OneKey: 101}, {OneKey: 60, ReadOnly: 60},
		{Snapshot: -1}, {Scan: 101}, {Write: 101}, {Delete: 101}, {OneKey: -1, ReadOnly: 50},
	} {
		_, err := Run(t.Context(), bad)
		require.ErrorContains(t, err, "record: ", "%+v", bad)
	}
	cfg, err := Config{Keys: 2}.withDefaults()
	require.NoError(t, err)
	require.Equal(t, Config{Kind: history.KindAppend, Workers: 8, Txs: 10_000, Keys: 2, MaxOps: 2, Write: 50, Options: Brisk()}, cfg)
	require.Equal(t, history.StrictSerializable, Serializable(history.KindAppend, 1).Promise())
	require.Equal(t, history.Snapshot, Mixed(history.KindAppend, 1).Promise())
	h, err := Run(t.Context(), Config{Kind: history.KindRegister, Txs: 100, Workers: 1, Options: &mvcc.Options{}})
	require.NoError(t, err)
	require.True(t, history.Check(h, history.StrictSerializable).OK())
}
