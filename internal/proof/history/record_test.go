package history

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

func recorded(t *testing.T, cfg Config) *History {
	t.Helper()
	h, err := Record(t.Context(), cfg)
	require.NoError(t, err)
	return h
}

// TestRecord: there is something of everything in a history, the checker accepts
// it, and it survives being written and read.
func TestRecord(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			cfg := Mixed(kind, 1)
			cfg.Txs, cfg.Workers = 3000, 4
			h := recorded(t, cfg)
			r := Check(h, 0)
			require.True(t, r.OK(), "%v", r)
			found := map[any]int{}
			for _, tx := range h.Txs {
				require.Less(t, tx.Begin, tx.End)
				found[tx.Level]++
				found[tx.Status]++
				wrote := map[int]bool{}
				for _, op := range tx.Ops {
					found[op.Kind]++
					found[op.Update]++
					switch {
					case op.Kind.writes():
						wrote[op.Key] = true
					case wrote[op.Key]:
						found["own"]++
					case !op.Present && op.List == nil:
						found["absent"]++
					}
				}
			}
			want := []any{LevelSerializable, LevelOneKey, StatusCommitted, StatusAborted, "absent"}
			for _, op := range opKinds[kind] {
				want = append(want, op)
			}
			if kind == KindAppend {
				want = append(want, LevelSnapshot, true)
			} else {
				want = append(want, "own")
			}
			for _, what := range want {
				require.NotZero(t, found[what], "%v of %v", what, found)
			}
			var b bytes.Buffer
			require.NoError(t, h.Write(&b))
			again, err := Read(&b)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(h, again, cmpopts.EquateEmpty()))
		})
	}
}

// TestMixtures: rare operations of [Mixed] are explained, too.
func TestMixtures(t *testing.T) {
	retain := func(cfg *Config) {
		cfg.Past, cfg.Snapshot = 30, min(cfg.Snapshot, 10)
		cfg.Options = &mvcc.Options{
			ReclaimInterval: time.Millisecond, PruneThreshold: 2, Retain: 20 * time.Millisecond,
		}
	}
	for _, test := range []struct {
		name   string
		kind   Kind
		change func(cfg *Config)
	}{
		{"lists that stay where they are", KindAppend, func(cfg *Config) { cfg.Delete = 0 }},
		{"snapshot", KindAppend, func(cfg *Config) { cfg.Snapshot, cfg.Keys = 100, 3 }},
		{"past", KindAppend, retain},
		{"past of tables", KindAppend, func(cfg *Config) {
			retain(cfg)
			cfg.Tables, cfg.Scan = true, 40
		}},
		{"past", KindOneKey, retain},
	} {
		t.Run(fmt.Sprint(test.kind, "/", test.name), func(t *testing.T) {
			for seed := range uint64(2) {
				cfg := Mixed(test.kind, seed)
				cfg.Txs = 2000
				test.change(&cfg)
				r := Check(recorded(t, cfg), 0)
				require.True(t, r.OK(), "%v", r)
			}
		})
	}
}

// TestRealMapIsLinearizable: one-key operations, and transactions beside them, are
// linearizable key by key.
func TestRealMapIsLinearizable(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 6
	}
	for i := range rounds {
		cfg := Mixed(KindOneKey, uint64(i))
		cfg.Workers, cfg.Keys = 2+i%7, 1+i%3
		cfg.Txs = 300 * cfg.Workers
		r := Check(recorded(t, cfg), 0)
		require.True(t, r.OK(), "%v", r)
		require.Zero(t, r.Undecided)
	}
}

// TestPlantedFaults: the answers of a faulty map are found in a history of the real
// one.
func TestPlantedFaults(t *testing.T) {
	last := func(h *History, match func(tx *Tx, op *Op) bool) *Op {
		for i := range slices.Backward(h.Txs) {
			for j := range h.Txs[i].Ops {
				if op := &h.Txs[i].Ops[j]; match(&h.Txs[i], op) && h.Txs[i].Status == StatusCommitted {
					return op
				}
			}
		}
		require.Fail(t, "there is none")
		return nil
	}
	stale := func(h *History) { // the last load of a value returns an old one
		op := last(h, func(tx *Tx, op *Op) bool {
			return op.Kind == OpRead && op.Present && len(tx.Ops) == 1
		})
		first := slices.IndexFunc(h.Txs, func(tx Tx) bool {
			return tx.Status == StatusCommitted && slices.ContainsFunc(tx.Ops, func(w Op) bool {
				return w.Kind == OpWrite && w.Key == op.Key
			})
		})
		for _, w := range h.Txs[first].Ops {
			if w.Kind == OpWrite && w.Key == op.Key {
				op.Value = w.Value
			}
		}
	}
	shorter := func(h *History) { // the last read of a list misses its end
		op := last(h, func(tx *Tx, op *Op) bool { return len(op.List) > 1 && !tx.writes() })
		op.List = op.List[:len(op.List)-1]
	}
	lost := func(h *History) { // the last compare-and-swap claims to have failed
		op := last(h, func(tx *Tx, op *Op) bool {
			return tx.Level == LevelOneKey && len(tx.Ops) == 2 && op.Kind == OpRead && op.Present
		})
		op.Value++
	}
	rolledBack := func(h *History) { // the read of the last transaction was rolled back
		op := last(h, func(tx *Tx, op *Op) bool {
			return op.Kind == OpRead && (op.Present || len(op.List) > 0)
		})
		value := op.Value
		if len(op.List) > 0 {
			value = op.List[0]
		}
		for i := range h.Txs {
			for _, w := range h.Txs[i].Ops {
				if w.Kind.writes() && w.Key == op.Key && w.Value == value {
					h.Txs[i].Status = StatusAborted
				}
			}
		}
	}
	for kind, faults := range map[Kind][]func(h *History){
		KindAppend: {shorter, rolledBack},
		KindOneKey: {stale, lost, rolledBack},
	} {
		for i, fault := range faults {
			cfg := Mixed(kind, 1)
			cfg.Txs = 2000
			h := recorded(t, cfg)
			require.True(t, Check(h, 0).OK())
			fault(h)
			r := Check(h, 0)
			require.False(t, r.OK(), "%s, fault %d", kind, i)
			t.Logf("%s, fault %d: %s", kind, i, r.Summary())
		}
	}
}

// TestLieIsFound: a wrong answer that is no read is an anomaly of every kind of history.
func TestLieIsFound(t *testing.T) {
	for _, kind := range Kinds() {
		w := &worker[int]{cfg: &Config{Kind: kind}}
		x := w.open(LevelSerializable)
		x.noteLie(0)
		w.finish(&x, StatusCommitted)
		h := &History{Kind: kind}
		w.deliver(h)
		require.False(t, Check(h, 0).OK(), kind)
	}
}

func (tx *Tx) writes() bool {
	return slices.ContainsFunc(tx.Ops, func(op Op) bool { return op.Kind.writes() })
}

// TestWriteSkewIsFound: many transactions at snapshot level are not serializable.
func TestWriteSkewIsFound(t *testing.T) {
	for seed := uint64(1); ; seed++ {
		cfg := Mixed(KindAppend, seed)
		cfg.Txs, cfg.Snapshot, cfg.OneKey, cfg.ReadOnly, cfg.Scan = 2000, 100, 0, 0, 0
		h := recorded(t, cfg)
		r := Check(h, 0)
		require.True(t, r.OK(), "%v", r)
		for i := range h.Txs {
			h.Txs[i].Level = LevelSerializable
		}
		if !Check(h, 0).OK() {
			break
		}
		require.Less(t, seed, uint64(200), "no write skew in any history")
	}
}

// TestStoppedEarly: the records before the end of the context are a history.
func TestStoppedEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, kind := range Kinds() {
		h, err := Record(ctx, Mixed(kind, 1))
		require.NoError(t, err)
		require.Len(t, h.Txs, 1, "only the read of everything in the end")
		require.True(t, Check(h, 0).OK())
	}
}

// TestPanicIsAnError: the map's panic ends the recording.
func TestPanicIsAnError(t *testing.T) {
	_, err := run(t.Context(), Config{Workers: 2, Txs: 10, Keys: 1, MaxOps: 1, OneKey: 100,
		Options: &mvcc.Options{}}, &space[int]{maps: [2]*mvcc.Map[int, int]{mvcc.New[int, int](nil)}},
		func(*Config) dialect[int] { return panics{} })
	require.ErrorContains(t, err, "on purpose")
}

type panics struct{ dialect[int] }

func (panics) oneKey(*worker[int], int) { panic("on purpose") }

// TestEmpty: nothing is a good history.
func TestEmpty(t *testing.T) {
	for _, kind := range Kinds() {
		require.True(t, Check(&History{Kind: kind}, 0).OK())
		require.True(t, Check(txs(kind, tx()), 0).OK())
	}
}
