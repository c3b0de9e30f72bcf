package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// An EdgeKind says why one transaction comes before another.
type EdgeKind uint8

const (
	WW EdgeKind = iota // the first wrote a version, and the second a later one of the same key
	WR                 // the second read the write of the first
	RW                 // the first read a version, and the second wrote a later one
	RT                 // the first had ended before the second began
)

// String returns "ww", "wr", "rw" or "rt".
func (k EdgeKind) String() string { return [...]string{"ww", "wr", "rw", "rt"}[k&3] }

// An Edge says that one transaction comes before another, and why.
type Edge struct {
	Kind          EdgeKind
	From, To      int     // the IDs of the transactions
	Key           int     // over which they meet, unless Kind is RT
	Before, After Version // the value that From, and that To wrote or read
}

// A Version is one value of a key.
type Version struct {
	Value   int
	Present bool // otherwise the key is absent, or the list empty
}

// An Anomaly is one thing that must not have happened.
type Anomaly struct {
	Name   string // one of explanations, or that of a cycle followed by "-realtime"
	Txs    []int  // the IDs of the transactions that take part
	Detail string // the fault and its key, if it is not a cycle
	Key    int
	Cycle  []Edge // the shortest that was found; the last edge leads back to the start
}

// A Report is the outcome of a check.
type Report struct {
	Anomalies []Anomaly
	// More is how many anomalies were found beyond those listed.
	More      int
	Txs       int // transactions that were checked, those that committed
	Edges     int // dependencies between them
	Undecided int // keys that could not be judged in time

	history *History
}

// OK reports whether no anomaly was found.
func (r *Report) OK() bool { return len(r.Anomalies) == 0 }

// Summary names the violated promises in one line.
func (r *Report) Summary() string {
	first := r.Anomalies[0]
	if first.Name == notLinearizable {
		return first.Name + ": " + first.Detail
	}
	promise := "strict serializability"
	for i := range r.history.Txs {
		if r.history.Txs[i].Level == LevelSnapshot {
			promise = "snapshot isolation"
		}
	}
	s := promise + " violated: " + first.Name
	if n := len(r.Anomalies) + r.More - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more anomalies)", n)
	}
	return s
}

// explanations has the meanings of the classes of anomalies.
var explanations = map[string]string{
	"G0":  "dirty write: the order in which transactions wrote is a cycle",
	"G1a": "aborted read: somebody has seen what was rolled back",
	"G1b": "intermediate read: somebody has seen what was not a transaction's last " +
		"write of the key",
	"G1c": "circular information flow: each transaction comes before the other by " +
		"what they wrote and read",
	"G-single": "read skew: a transaction has seen a part of what another one wrote, and " +
		"not all",
	"G-nonadjacent": "long fork: transactions have seen what others wrote in different orders",
	"G2-item":       "write skew: each transaction has read what another one overwrote",
	"lost update (P4)": "two transactions have both replaced one version: one of the two writes " +
		"is lost",
	"dirty update":       "a transaction has committed on top of what was rolled back",
	"internal":           "a transaction does not agree with its own reads and writes",
	"incompatible order": "lists of one key that no order of the appends explains",
	"duplicate":          "a value that was written, or is seen, twice",
	"garbage read":       "a value that nobody wrote",
	notLinearizable:      "operations on one key that no order explains",
}

// String explains each anomaly: its class, the shortest cycle edge by edge, and the
// transactions that take part in it.
func (r *Report) String() string {
	var b strings.Builder
	if r.OK() {
		fmt.Fprintf(&b, "nothing is violated: %d transactions, %d dependencies\n", r.Txs, r.Edges)
		return b.String()
	}
	fmt.Fprintf(&b, "%d anomalies in %d transactions\n", len(r.Anomalies)+r.More, r.Txs)
	for i := range r.Anomalies {
		b.WriteByte('\n')
		r.explain(&b, &r.Anomalies[i])
	}
	if r.More > 0 {
		fmt.Fprintf(&b, "\nand at least %d more\n", r.More)
	}
	return b.String()
}

func (r *Report) explain(b *strings.Builder, a *Anomaly) {
	class, realtime := strings.CutSuffix(a.Name, "-realtime")
	fmt.Fprintf(b, "%s: %s", a.Name, explanations[class])
	if realtime {
		b.WriteString("; the order is partly that of real time")
	}
	b.WriteByte('\n')
	if a.Detail != "" {
		fmt.Fprintf(b, "  key %d: %s\n", a.Key, a.Detail)
	}
	for _, e := range a.Cycle {
		fmt.Fprintf(b, "  T%d --%v--> T%d: %s\n", e.From, e.Kind, e.To, r.reason(e))
	}
	var txs []*Tx
	for _, id := range a.Txs {
		if tx := r.txByID(id); tx != nil && !slices.Contains(txs, tx) {
			txs = append(txs, tx)
		}
	}
	slices.SortStableFunc(txs, func(a, b *Tx) int { return cmp.Compare(a.Begin, b.Begin) })
	for _, tx := range txs {
		fmt.Fprintf(b, "    T%d, %v, %v, goroutine %d, from %d to %d:%s\n",
			tx.ID, tx.Level, tx.Status, tx.Process, tx.Begin, tx.End, describe(tx, a))
	}
}

// reason justifies an edge.
func (r *Report) reason(e Edge) string {
	switch e.Kind {
	case WW:
		return fmt.Sprintf("T%d wrote %v to key %d, and T%d %v after it",
			e.From, e.Before, e.Key, e.To, e.After)
	case WR:
		return fmt.Sprintf("T%d wrote %v to key %d, which T%d read", e.From, e.Before, e.Key, e.To)
	case RW:
		return fmt.Sprintf("T%d read %v for key %d, and T%d wrote %v after it",
			e.From, e.Before, e.Key, e.To, e.After)
	}
	from, to := r.txByID(e.From), r.txByID(e.To)
	if from == nil || to == nil {
		return "real time"
	}
	return fmt.Sprintf("T%d ended at %d, before T%d began at %d", e.From, from.End, e.To, to.Begin)
}

func (r *Report) txByID(id int) *Tx {
	for i := range r.history.Txs {
		if r.history.Txs[i].ID == id {
			return &r.history.Txs[i]
		}
	}
	return nil
}

// String returns the value, or "nothing".
func (v Version) String() string {
	if !v.Present {
		return "nothing"
	}
	return fmt.Sprint(v.Value)
}

// describe returns the operations of a transaction: all of them if they are few,
// else those on the keys of the anomaly.
func describe(tx *Tx, a *Anomaly) string {
	var b strings.Builder
	left := 0
	for i, op := range tx.Ops {
		here := a.Cycle == nil && op.Key == a.Key ||
			slices.ContainsFunc(a.Cycle, func(e Edge) bool { return e.Kind != RT && e.Key == op.Key })
		if i >= 12 && !here {
			left++
			continue
		}
		b.WriteByte(' ')
		b.WriteString(op.String())
		b.WriteByte(';')
	}
	if left > 0 {
		fmt.Fprintf(&b, " %d more", left)
	}
	return b.String()
}

// String returns the operation in words, with the end of a long list.
func (op Op) String() string {
	read := "read"
	if op.Update {
		read = "read for update"
	}
	switch {
	case op.Kind == OpRead && op.List != nil:
		list, dots := op.List, ""
		if n := len(list); n > 8 {
			list, dots = list[n-8:], fmt.Sprintf("%d and ", n-8)
		}
		return fmt.Sprintf("%s %d: %s%v", read, op.Key, dots, list)
	case op.Kind == OpRead:
		return fmt.Sprintf("%s %d: %v", read, op.Key, Version{op.Value, op.Present})
	case op.Kind == OpOther:
		return fmt.Sprintf("found %d to be other than %d", op.Key, op.Value)
	case op.Kind == OpDelete:
		return fmt.Sprintf("delete %d", op.Key)
	}
	return fmt.Sprintf("%v %d: %d", op.Kind, op.Key, op.Value)
}
