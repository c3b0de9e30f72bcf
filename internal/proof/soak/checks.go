package soak

import (
	"context"
	"io"
	"time"

	"github.com/mvccmap/mvccmap/internal/proof/history"
)

// do does a round and checks it.
func (t Target) do(ctx context.Context, r Round) Outcome {
	switch r.Kind {
	case Append, OneKey:
		return t.doHistory(ctx, r)
	case Reclaim:
		return t.doReclaim(ctx, r)
	case Copies:
		return t.doCopies(ctx, r)
	case Growth:
		return t.doGrowth(ctx, r)
	}
	panic("soak: there is no check " + string(r.Kind)) // Run has checked the kinds
}

// failed is the violation of a map that could not even do the work of the round.
func failed(err error) *Violation {
	return &Violation{Summary: "the map failed", Detail: err.Error()}
}

// doHistory records a history and looks for anomalies.
func (t Target) doHistory(ctx context.Context, r Round) Outcome {
	h, err := t.Record(ctx, history.Config{
		Kind: history.Kind(r.Kind), Workers: r.Workers, Txs: r.Size, Keys: r.Keys, MaxOps: r.MaxOps,
		Seed: r.Seed, Snapshot: r.Snapshot, OneKey: r.OneKey, ReadOnly: r.ReadOnly, Scan: r.Scan,
		Write: r.Write, Delete: r.Delete, Past: r.Past, Tables: r.Tables, Options: r.Options(),
	})
	if err != nil {
		return Outcome{Violation: failed(err)}
	}
	return checkHistory(h)
}

// keyPatience is how long a key may take to be judged. Tests take the limit away.
var keyPatience = 20 * time.Second

// checkHistory judges a history by the promises to each of its transactions.
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
			history: h,
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
