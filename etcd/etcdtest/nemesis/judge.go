package nemesis

import (
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/internal/proof/history"
)

// judge finds out whether the reports of the clients can be true.
func (r *round) judge() Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.history()
	report := history.Check(h, 0)
	o := Outcome{RoundConfig: r.RoundConfig, Transactions: report.Txs, Commits: len(r.lines.at),
		Wrong: r.lines.wrong, History: h}
	if !report.OK() {
		o.Wrong = append(o.Wrong, report.Summary())
		o.Detail = report.String()
	}
	for _, f := range r.lines.finals {
		o.LongestView = max(o.LongestView, f.Longest)
		o.Unclear += f.Stats.Unclear
		o.Unknown += f.Stats.Unknown
		o.Resyncs += f.Stats.Resyncs
	}
	last := r.start
	for _, at := range slices.Sorted(slices.Values(r.lines.at)) {
		o.Gap = max(o.Gap, time.Duration(at-last))
		last = at
	}
	return o
}

// history returns the history of the lists. A transaction of which nobody knows whether it was
// committed was, if anybody has seen its appends, and then at any time after it began.
func (r *round) history() *history.History {
	seen := map[int]bool{}
	for _, t := range r.lines.ended {
		for _, o := range t.Ops {
			for _, v := range o.List {
				seen[v] = true
			}
		}
	}
	h := &history.History{Kind: history.KindAppend}
	end := now()
	add := func(t history.Tx) {
		var ops []history.Op
		for _, o := range t.Ops {
			if o.Key >= lists*r.from {
				ops = append(ops, o)
			}
		}
		if t.Ops = ops; len(ops) > 0 {
			t.ID = len(h.Txs) + 1
			h.Txs = append(h.Txs, t)
		}
	}
	for _, t := range r.lines.ended {
		add(t)
	}
	open := r.lines.unknown
	for _, t := range r.lines.begun {
		open = append(open, t)
	}
	for _, t := range open {
		t.End = end
		if v := firstValue(&t); !seen[v] {
			t.Status = history.StatusAborted
		}
		add(t)
	}
	return h
}
