package soak

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/history"
	"github.com/mvccmap/mvccmap/mvcc"
)

// do does a round and checks it.
func (t Target) do(ctx context.Context, r Round) Outcome {
	switch r.Kind {
	case Append, Register, OneKey:
		return t.doHistory(ctx, r)
	case Transfer:
		return t.doTransfer(ctx, r)
	case Reclaim:
		return t.doReclaim(ctx, r)
	case Copies:
		return t.doCopies(ctx, r)
	case Growth:
		return t.doGrowth(ctx, r)
	}
	panic("soak: there is no check " + string(r.Kind)) // Run has checked the kinds
}

// failed is the violation of a map that could not even do what it was asked.
func failed(err error) *Violation {
	return &Violation{Summary: "the map failed", Detail: err.Error()}
}

// doHistory records a history and looks for anomalies.
func (t Target) doHistory(ctx context.Context, r Round) Outcome {
	h, err := t.Record(ctx, history.Config{
		Kind: history.Kind(r.Kind), Workers: r.Workers, Txs: r.Size, Keys: r.Keys, MaxOps: r.MaxOps,
		Seed: r.Seed, Snapshot: r.Snapshot, OneKey: r.OneKey, ReadOnly: r.ReadOnly, Scan: r.Scan,
		Write: r.Write, Delete: r.Delete, Past: r.Past, Options: r.Options(),
	})
	switch {
	case err == nil:
		return checkHistory(h)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return Outcome{}
	}
	return Outcome{Violation: failed(err)}
}

// keyPatience is how long a key may take to be judged. Tests take the limit away.
var keyPatience = 20 * time.Second

// checkHistory judges a history by what each of its transactions was promised.
func checkHistory(h *history.History) Outcome {
	report := history.Check(h, keyPatience)
	o := Outcome{Totals: Totals{
		Transactions: report.Txs, Aborted: len(h.Txs) - report.Txs,
		Dependencies: report.Edges, Undecided: report.Undecided,
	}}
	for i := range h.Txs {
		if h.Txs[i].Status == history.StatusCommitted {
			o.Operations += len(h.Txs[i].Ops)
		}
	}
	if !report.OK() {
		o.Violation = &Violation{
			Summary: report.Summary(),
			Detail:  report.String(),
			files:   []file{{HistoryFile, h.Write}, {PictureFile, report.Draw}},
		}
	}
	return o
}

// CheckFile judges a history that was saved. The error says why it cannot be read.
func CheckFile(f io.Reader) (*Report, error) {
	start := time.Now()
	h, err := history.Read(f)
	if err != nil {
		return nil, err
	}
	round := Round{Kind: Kind(h.Kind)}
	o := checkHistory(h)
	o.Time = time.Since(start)
	if o.Violation != nil {
		o.Violation.Round = round
	}
	r := &Report{Kinds: []KindTotals{{Kind: round.Kind}}, Elapsed: o.Time}
	r.add(round, o)
	return r, nil
}

// transferFor is how long a round of transfers lasts for each 1,000 of its size.
const transferFor = 15 * time.Millisecond

// doTransfer runs transfers beside audits, as package bench does.
func (t Target) doTransfer(ctx context.Context, r Round) Outcome {
	w, _ := bench.WorkloadByName("transfer")
	w.Params.Keys = r.Keys
	level := bench.Serializable
	if r.Snapshot > 0 {
		level = bench.Snapshot
	}
	run, err := bench.New(bench.Config{
		Workload: w, Threads: r.Workers, Isolation: level, Seed: r.Seed, AuditInterval: r.AuditInterval,
		LatencySample: 1 << 20, Engine: t.Bank,
		Options: mvcc.Options{
			ReclaimInterval: r.ReclaimInterval, ReclaimWorkers: r.ReclaimWorkers,
			ReclaimQueue: r.ReclaimQueue, PruneThreshold: r.PruneThreshold,
		},
	})
	if err != nil {
		return Outcome{Violation: unbalanced(err)}
	}
	defer run.Close()
	m, err := run.RunFor(ctx, transferFor*time.Duration(r.Size)/1000, false)
	o := Outcome{Totals: Totals{
		Transactions: int(m.Ops + m.Audits), Aborted: int(m.Aborts), Audits: int(m.Audits),
		Operations: 4*int(m.Ops) + r.Keys*int(m.Audits),
	}}
	if err == nil {
		err = run.Verify()
	}
	if err != nil {
		o.Violation = unbalanced(err)
	}
	return o
}

// unbalanced makes a violation of an error of package bench.
func unbalanced(err error) *Violation {
	if v, ok := errors.AsType[*bench.Violation](err); ok {
		return &Violation{Summary: v.Detail,
			Detail: "The accounts are wrong. There is no history of transfers."}
	}
	return failed(err)
}
