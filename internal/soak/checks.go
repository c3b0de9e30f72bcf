package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/history"
	"github.com/mvccmap/mvccmap/internal/history/record"
	"github.com/mvccmap/mvccmap/internal/linear"
	"github.com/mvccmap/mvccmap/mvcc"
)

// soak is what stays from round to round.
type soak struct {
	target    Target
	abandoned bool // a round hangs, and has what it has

	long *mvcc.Map[int, int64] // the long-lived map
	used int                   // rounds it has served
}

func (s *soak) close() {
	if s.long != nil && !s.abandoned {
		s.long.Close()
	}
}

// do does a round and checks it.
func (s *soak) do(ctx context.Context, r Round) Outcome {
	switch r.Kind {
	case Append:
		return s.doHistory(ctx, r, history.KindAppend)
	case Register:
		return s.doHistory(ctx, r, history.KindRegister)
	case OneKey:
		return s.doOneKey(ctx, r)
	case Transfer:
		return s.doTransfer(ctx, r)
	case Reclaim:
		return s.doReclaim(ctx, r)
	case Growth:
		return s.doGrowth(ctx, r)
	}
	panic("soak: there is no check " + string(r.Kind)) // Run has looked
}

// failed is the violation of a map that could not even do what was asked of it.
func failed(err error) *Violation {
	return &Violation{Summary: "the map failed", Detail: err.Error()}
}

// doHistory records transactions and looks for what no order explains.
func (s *soak) doHistory(ctx context.Context, r Round, kind history.Kind) Outcome {
	h, err := s.target.Record(ctx, record.Config{
		Kind: kind, Workers: r.Workers, Txs: r.Size, Keys: r.Keys, MaxOps: r.MaxOps, Seed: r.Seed,
		Snapshot: r.Snapshot, OneKey: r.OneKey, ReadOnly: r.ReadOnly, Scan: r.Scan, Write: r.Write, Delete: r.Delete,
		Options: r.Options(),
	})
	switch {
	case err == nil:
		return checkHistory(h)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return Outcome{}
	}
	return Outcome{Violation: failed(err)}
}

// checkHistory judges a history by what each of its transactions was promised.
func checkHistory(h *history.History) Outcome {
	promise := history.StrictSerializable
	var o Outcome
	for i := range h.Txs {
		tx := &h.Txs[i]
		if tx.Level == history.LevelSnapshot {
			promise = history.Snapshot
		}
		if tx.Status == history.StatusAborted {
			o.Aborted++
		} else {
			o.Operations += len(tx.Ops)
		}
	}
	report := history.CheckWith(h, history.Options{Promise: promise, Opacity: true})
	o.Transactions, o.Dependencies = report.Txs, report.Edges
	if !report.OK() {
		first := report.Anomalies[0]
		o.Violation = &Violation{
			Summary: fmt.Sprintf("%v violated: %s", promise, first.Name),
			Detail:  report.String(),
			files:   []file{{HistoryFile, h.Write}},
		}
		if n := len(report.Anomalies) + report.More; n > 1 {
			o.Violation.Summary += fmt.Sprintf(" (and %d more anomalies)", n-1)
		}
	}
	return o
}

// linearTimeout is how long a key may take to be judged. Tests take the limit away.
var linearTimeout = 20 * time.Second

// longLife is how many rounds a long-lived map serves.
const longLife = 20

// doOneKey records one-key operations and checks that they are linearizable.
func (s *soak) doOneKey(ctx context.Context, r Round) Outcome {
	m, fresh := s.long, false
	if !r.LongLived || m == nil {
		m, fresh = mvcc.New[int, int64](r.Options()), true
	}
	last := true
	if r.LongLived {
		s.long = m
		s.used++
		last = s.used == longLife
	}
	var o Outcome
	h, err := linear.Record(ctx, s.target.OneKey(linear.Of(m)), linear.Config{
		Workers: r.Workers, Keys: r.Keys, Ops: max(r.Size/r.Workers, 1), Seed: r.Seed, Fresh: fresh,
	})
	if err != nil {
		o.Violation = failed(err)
	} else {
		o = checkLinear(h)
	}
	if o.Violation == nil && last {
		o.Violation = checkQuiet(m)
	}
	if o.Violation != nil || last {
		m.Close()
		if r.LongLived {
			s.long, s.used = nil, 0
		}
	}
	return o
}

// checkLinear judges a history of one-key operations.
func checkLinear(h *linear.History) Outcome {
	res := linear.Check(h, linearTimeout)
	o := Outcome{Totals: Totals{Transactions: res.Ops, Operations: res.Ops, Undecided: res.Unknown}}
	if v := res.Violation; v != nil {
		o.Violation = &Violation{
			Summary: v.Error(),
			Detail:  v.Detail(),
			files:   []file{{HistoryFile, h.Write}, {PictureFile, v.Visualize}},
		}
	}
	return o
}

// CheckFile judges a history that was saved, of either kind. Its error says that
// the file holds no history.
func CheckFile(f io.ReadSeeker) (*Report, error) {
	start := time.Now()
	kind := OneKey
	var o Outcome
	h, err := linear.Read(f)
	switch {
	case err == nil:
		o = checkLinear(h)
	case errors.Is(err, linear.ErrFormat):
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		h, err := history.Read(f)
		if err != nil {
			return nil, err
		}
		if kind = Register; h.Kind == history.KindAppend {
			kind = Append
		}
		o = checkHistory(h)
	default:
		return nil, err
	}
	o.Time = time.Since(start)
	r := &Report{Kinds: []KindTotals{{Kind: kind}}}
	round := Round{Kind: kind}
	if o.Violation != nil {
		o.Violation.Round = round
	}
	r.add(round, o)
	r.Elapsed = o.Time
	return r, nil
}

// transferFor is how long a round of transfers lasts for each 1,000 of its size.
const transferFor = 15 * time.Millisecond

// doTransfer runs transfers beside audits, as package bench does.
func (s *soak) doTransfer(ctx context.Context, r Round) Outcome {
	w, _ := bench.WorkloadByName("transfer")
	w.Params.Keys = r.Keys
	var b *bank
	level := bench.Serializable
	if r.Snapshot > 0 {
		level = bench.Snapshot
	}
	t, err := bench.New(bench.Config{
		Workload: w, Threads: r.Workers, Isolation: level, Seed: r.Seed, AuditInterval: r.AuditInterval, LatencySample: 1 << 20,
		Engine: bench.EngineSpec{Name: "mvcc", New: func(setup bench.Setup) (bench.Engine, error) {
			b = newBank(setup, r.Options())
			return s.target.Bank(b), nil
		}},
	})
	if err != nil {
		return Outcome{Violation: unbalanced(err)}
	}
	defer t.Close()
	m, err := t.RunFor(ctx, transferFor*time.Duration(r.Size)/1000, false)
	o := Outcome{Totals: Totals{
		Transactions: int(m.Ops + m.Audits), Aborted: int(m.Aborts), Audits: int(m.Audits),
		Operations: 4*int(m.Ops) + r.Keys*int(m.Audits),
	}}
	if err == nil {
		err = t.Verify()
	}
	if err != nil {
		o.Violation = unbalanced(err)
	} else {
		o.Violation = checkQuiet(b.m)
	}
	return o
}

// unbalanced makes a violation of an error of package bench.
func unbalanced(err error) *Violation {
	if v, ok := errors.AsType[*bench.Violation](err); ok {
		return &Violation{Summary: v.Detail, Detail: "The accounts are wrong. There is no history of transfers."}
	}
	return failed(err)
}
