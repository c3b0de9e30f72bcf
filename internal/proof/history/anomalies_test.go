package history

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Histories by hand: one for each class of anomaly, and beside it an allowed history
// that differs from it by little.

func rl(key int, list ...int) Op { return Op{Kind: OpRead, Key: key, List: list} }
func ap(key, value int) Op       { return Op{Kind: OpAppend, Key: key, Value: value} }
func ru(key int, list ...int) Op { return Op{Kind: OpRead, Key: key, List: list, Update: true} }
func mg(key, value int) Op       { return Op{Kind: OpMerge, Key: key, Value: value} }
func rv(key, value int) Op {
	return Op{Kind: OpRead, Key: key, Value: value, Present: true}
}
func rn(key int) Op                { return Op{Kind: OpRead, Key: key} }
func wr(key, value int) Op         { return Op{Kind: OpWrite, Key: key, Value: value} }
func del(key int) Op               { return Op{Kind: OpDelete, Key: key} }
func at(begin, end int64, t Tx) Tx { t.Begin, t.End = begin, end; return t }
func snap(t Tx) Tx                 { t.Level = LevelSnapshot; return t }
func aborted(t Tx) Tx              { t.Status = StatusAborted; return t }
func txs(kind Kind, txs ...Tx) *History {
	for i := range txs {
		txs[i].ID = i + 1
	}
	return &History{Kind: kind, Txs: txs}
}

// tx returns a transaction that is concurrent with all others that do not say when
// they were.
func tx(ops ...Op) Tx {
	return Tx{Level: LevelSerializable, Status: StatusCommitted, Begin: 10, End: 1000, Ops: ops}
}

func appends(t ...Tx) *History { return txs(KindAppend, t...) }

// circle returns a cycle as text.
func circle(a Anomaly) string {
	var b strings.Builder
	for _, e := range a.Cycle {
		fmt.Fprintf(&b, "%d %v ", e.From, e.Kind)
	}
	if len(a.Cycle) > 0 {
		fmt.Fprint(&b, a.Cycle[0].From)
	}
	return b.String()
}

func TestAnomalies(t *testing.T) {
	for _, test := range []struct {
		name  string // of the case; the class comes first
		bad   *History
		cycle string   // the first anomaly's
		more  []string // the classes of further anomalies
		good  *History
		si    *History // allowed by its levels, but not serializable
	}{{
		name: "G0",
		bad: appends(tx(ap(1, 11), ap(2, 21)), tx(ap(1, 12), ap(2, 22)),
			tx(rl(1, 11, 12), rl(2, 22, 21))),
		cycle: "1 ww 2 ww 1",
		good: appends(tx(ap(1, 11), ap(2, 21)), tx(ap(1, 12), ap(2, 22)),
			tx(rl(1, 11, 12), rl(2, 21, 22))),
	}, {
		name: "G0: at snapshot level",
		bad: appends(snap(tx(ap(1, 11), ap(2, 21))), snap(tx(ap(1, 12), ap(2, 22))),
			tx(rl(1, 11, 12), rl(2, 22, 21))),
		cycle: "1 ww 2 ww 1",
	}, {
		name:  "G0-realtime",
		bad:   appends(at(1, 2, tx(ap(1, 11))), at(3, 4, tx(ap(1, 12))), tx(rl(1, 12, 11))),
		cycle: "1 rt 2 ww 1",
		good:  appends(at(1, 3, tx(ap(1, 11))), at(3, 4, tx(ap(1, 12))), tx(rl(1, 12, 11))),
	}, {
		name: "G1a",
		bad:  appends(aborted(tx(ap(1, 11))), tx(rl(1, 11))),
		good: appends(aborted(tx(ap(1, 11))), tx(rl(1))),
	}, {
		name: "G1a: in a list that forks",
		bad: appends(aborted(tx(ap(1, 11))), tx(ap(1, 12)), tx(ap(1, 13)),
			tx(rl(1, 12, 13)), tx(rl(1, 11))),
		more: []string{"incompatible order"},
	}, {
		name: "dirty update",
		bad:  appends(aborted(tx(ap(1, 11))), tx(ap(1, 12)), tx(rl(1, 11, 12))),
		more: []string{"G1a"},
		good: appends(aborted(tx(ap(1, 11))), tx(ap(1, 12)), tx(rl(1, 12))),
	}, {
		name: "G1b",
		bad:  appends(tx(ap(1, 11), ap(1, 12)), tx(rl(1, 11)), tx(rl(1, 11, 12))),
		good: appends(tx(ap(1, 11), ap(1, 12)), tx(rl(1)), tx(rl(1, 11, 12))),
	}, {
		name:  "G1c",
		bad:   appends(tx(ap(1, 11), rl(2, 22)), tx(ap(2, 22), rl(1, 11))),
		cycle: "1 wr 2 wr 1",
		good:  appends(tx(ap(1, 11), rl(2)), tx(ap(2, 22), rl(1, 11))),
	}, {
		name:  "G-single: read skew",
		bad:   appends(tx(ap(1, 11), ap(2, 21)), tx(rl(1, 11), rl(2)), tx(rl(1, 11), rl(2, 21))),
		cycle: "1 wr 2 rw 1",
		good:  appends(tx(ap(1, 11), ap(2, 21)), tx(rl(1, 11), rl(2, 21)), tx(rl(1), rl(2))),
	}, {
		name:  "G-single: read skew of what nobody reads later",
		bad:   appends(tx(ap(1, 11), ap(2, 21)), tx(rl(1, 11), rl(2))),
		cycle: "1 wr 2 rw 1",
	}, {
		name:  "G-single: at snapshot level",
		bad:   appends(snap(tx(rl(3), ap(1, 11), ap(2, 21))), snap(tx(rl(1, 11), rl(2), ap(4, 41)))),
		cycle: "1 wr 2 rw 1",
	}, {
		name:  "G-single-realtime: stale read",
		bad:   appends(at(1, 2, tx(ap(1, 11))), at(3, 4, tx(rl(1)))),
		cycle: "1 rt 2 rw 1",
		good:  appends(at(1, 3, tx(ap(1, 11))), at(3, 4, tx(rl(1)))),
	}, {
		name:  "G-single-realtime: a write that is lost",
		bad:   appends(at(1, 3, tx(ap(1, 11))), at(3, 4, tx(ap(1, 12))), at(5, 6, tx(rl(1, 12)))),
		cycle: "1 rt 3 rw 1",
	}, {
		name:  "G2-item: write skew",
		bad:   appends(tx(rl(1), ap(2, 21)), tx(rl(2), ap(1, 11))),
		cycle: "1 rw 2 rw 1",
		good:  appends(tx(rl(1), ap(2, 21)), tx(rl(2, 21), ap(1, 11))),
		si:    appends(snap(tx(rl(1), ap(2, 21))), snap(tx(rl(2), ap(1, 11)))),
	}, {
		name: "G2-item: read-only anomaly",
		bad:  appends(tx(rl(1), rl(2), ap(1, 11)), tx(rl(2), ap(2, 22)), tx(rl(1), rl(2, 22))),
		// 1 read 2 as it was before 2, which 3 has seen, without 1.
		cycle: "1 rw 2 wr 3 rw 1",
		si: appends(snap(tx(rl(1), rl(2), ap(1, 11))), snap(tx(rl(2), ap(2, 22))),
			tx(rl(1), rl(2, 22))),
	}, {
		name:  "G2-item-realtime",
		bad:   appends(at(1, 2, tx(ap(1, 11))), at(3, 4, tx(rl(2))), at(1, 9, tx(rl(1), ap(2, 22)))),
		cycle: "1 rt 2 rw 3 rw 1",
		good:  appends(at(1, 3, tx(ap(1, 11))), at(3, 4, tx(rl(2))), at(1, 9, tx(rl(1), ap(2, 22)))),
		si: appends(at(1, 2, tx(ap(1, 11))), at(3, 4, tx(rl(2))),
			at(1, 9, snap(tx(rl(1), ap(2, 22))))),
	}, {
		name:  "G2-item: the one between the two is serializable",
		bad:   appends(snap(tx(rl(9), ap(1, 11), ap(3, 31))), tx(rl(1, 11), rl(2)), tx(ap(2, 22), rl(3))),
		cycle: "1 wr 2 rw 3 rw 1",
		si: appends(snap(tx(rl(9), ap(1, 11), ap(3, 31))), tx(rl(1, 11), rl(2)),
			snap(tx(ap(2, 22), rl(3)))),
	}, {
		name:  "G-nonadjacent: long fork",
		bad:   appends(tx(ap(1, 11)), tx(ap(2, 22)), tx(rl(1, 11), rl(2)), tx(rl(1), rl(2, 22))),
		cycle: "1 wr 3 rw 2 wr 4 rw 1",
		good:  appends(tx(ap(1, 11)), tx(ap(2, 22)), tx(rl(1, 11), rl(2)), tx(rl(1, 11), rl(2, 22))),
	}, {
		name: "G-nonadjacent: at snapshot level",
		bad: appends(snap(tx(rl(8), ap(1, 11))), snap(tx(rl(8), ap(2, 22))),
			snap(tx(rl(1, 11), rl(2), ap(3, 33))), snap(tx(rl(1), rl(2, 22), ap(4, 44)))),
		cycle: "1 wr 3 rw 2 wr 4 rw 1",
	}, {
		name: "G-nonadjacent-realtime",
		bad: appends(at(1, 2, tx(ap(1, 11))), at(1, 9, tx(ap(2, 22), ap(3, 33))), at(1, 9, tx(ap(4, 44))),
			at(3, 4, tx(rl(2))), at(1, 9, tx(rl(3, 33), rl(1)))),
		cycle: "1 rt 4 rw 2 wr 5 rw 1",
	}, {
		name:  "G2-item: phantom",
		bad:   appends(tx(rl(1), rl(2), ap(1, 11)), tx(rl(1), rl(2), ap(2, 22))),
		cycle: "1 rw 2 rw 1",
		good:  appends(tx(rl(1), rl(2), ap(1, 11)), tx(rl(1, 11), rl(2), ap(2, 22))),
		si:    appends(snap(tx(rl(1), rl(2), ap(1, 11))), snap(tx(rl(1), rl(2), ap(2, 22)))),
	}, {
		name:  "lost update (P4)",
		bad:   appends(tx(rl(1), ap(1, 11)), tx(rl(1), ap(1, 12)), tx(rl(1, 11, 12))),
		cycle: "1 ww 2 rw 1",
		good:  appends(tx(rl(1), ap(1, 11)), tx(rl(1, 11), ap(1, 12)), tx(rl(1, 11, 12))),
	}, {
		name:  "lost update (P4): at snapshot level",
		bad:   appends(snap(tx(rl(1), ap(1, 11))), snap(tx(rl(1), ap(1, 12))), tx(rl(1, 11, 12))),
		cycle: "1 ww 2 rw 1",
		// Nothing was read: nothing is lost.
		si: appends(snap(tx(rl(1), ap(1, 11))), snap(tx(ap(1, 12))), tx(rl(1, 11, 12)),
			snap(tx(rl(5), ap(6, 6))), snap(tx(rl(6), ap(5, 5)))),
	}, {
		name:  "lost update (P4): that nobody has seen",
		bad:   appends(snap(tx(rl(1), ap(1, 11))), snap(tx(rl(1), ap(1, 12)))),
		cycle: "1 rw 2 rw 1",
	}, {
		name:  "lost update (P4): beside a merge",
		bad:   appends(snap(tx(rl(1), ap(1, 11), mg(1, 12))), tx(mg(1, 13)), tx(rl(1, 13, 11, 12))),
		cycle: "1 rw 2 ww 1",
		good:  appends(snap(tx(rl(1), ap(1, 11), mg(1, 12))), tx(mg(1, 13)), tx(rl(1, 11, 12, 13))),
		// A merge replaces the value that it is given when it commits.
		si: appends(snap(tx(rl(1), mg(1, 11))), tx(rl(1), ap(1, 12)), tx(rl(1, 12, 11))),
	}, {
		name:  "lost update (P4): by a merge",
		bad:   appends(tx(rl(1), mg(1, 11)), tx(rl(1), mg(1, 12))),
		cycle: "1 rw 2 rw 1",
		si:    appends(snap(tx(rl(1), mg(1, 11))), snap(tx(rl(1), mg(1, 12)))),
	}, {
		name: "G-single: a merge is seen in part",
		bad: appends(snap(tx(rl(3), mg(1, 11), mg(2, 21))), tx(rl(1, 11), rl(2)),
			tx(rl(1, 11), rl(2, 21))),
		cycle: "1 wr 2 rw 1",
	}, {
		name:  "G2-item: of what was read for update",
		bad:   appends(snap(tx(ru(1), ap(2, 21))), snap(tx(ru(2), ap(1, 11)))),
		cycle: "1 rw 2 rw 1",
		good:  appends(snap(tx(ru(1), ap(2, 21))), snap(tx(ru(2, 21), ap(1, 11)))),
		si:    appends(snap(tx(ru(1), ap(2, 21))), snap(tx(rl(2), ap(1, 11)))),
	}, {
		name: "internal: its own write",
		bad:  appends(tx(ap(1, 11), rl(1))),
		good: appends(tx(ap(1, 11), rl(1, 11))),
	}, {
		name: "internal: its own append behind others'",
		bad:  appends(tx(ap(1, 10)), tx(rl(1, 10), ap(1, 11), rl(1, 11))),
		good: appends(tx(ap(1, 10)), tx(rl(1, 10), ap(1, 11), rl(1, 10, 11))),
	}, {
		name: "internal: twice the same key",
		bad:  appends(tx(ap(1, 11)), tx(rl(1), rl(1, 11))),
		good: appends(tx(ap(1, 11)), tx(rl(1, 11), rl(1, 11))),
	}, {
		name: "internal: what it writes later",
		bad:  appends(tx(rl(1, 11), ap(1, 11))),
	}, {
		name: "incompatible order",
		bad:  appends(tx(ap(1, 11)), tx(ap(1, 12)), tx(rl(1, 11)), tx(rl(1, 12, 11))),
		good: appends(tx(ap(1, 11)), tx(ap(1, 12)), tx(rl(1, 12)), tx(rl(1, 12, 11))),
	}, {
		name: "incompatible order: one of two appends is missing",
		bad:  appends(tx(ap(1, 11), ap(1, 12)), tx(rl(1, 12))),
		good: appends(tx(ap(1, 11), ap(1, 12)), tx(rl(1, 11, 12))),
	}, {
		name: "incompatible order: two appends the wrong way round",
		bad:  appends(tx(ap(1, 11), ap(1, 12)), tx(ap(1, 13)), tx(rl(1, 12, 11, 13))),
		good: appends(tx(ap(1, 11), ap(1, 12)), tx(ap(1, 13)), tx(rl(1, 11, 12, 13))),
	}, {
		name: "duplicate: in a list",
		bad:  appends(tx(ap(1, 11)), tx(rl(1, 11, 11))),
		good: appends(tx(ap(1, 11)), tx(rl(1, 11))),
	}, {
		name: "garbage read",
		bad:  appends(tx(rl(1, 99))),
		good: appends(tx(rl(1, 99)), tx(ap(1, 99))),
	}, {
		name: "garbage read: in a list that forks",
		bad:  appends(tx(ap(1, 1)), tx(ap(1, 2)), tx(rl(1, 1, 2)), tx(rl(1, 99))),
		more: []string{"incompatible order"},
	}, {
		name:  "G-single: an aborted transaction has seen it",
		bad:   appends(tx(ap(1, 11), ap(2, 21)), aborted(tx(rl(1, 11), rl(2)))),
		cycle: "1 wr 2 rw 1",
		good:  appends(tx(ap(1, 11), ap(2, 21)), aborted(tx(rl(1, 11), rl(2, 21)))),
	}} {
		t.Run(test.name, func(t *testing.T) {
			class, _, _ := strings.Cut(test.name, ":")
			class = strings.TrimSuffix(class, " write")
			r := Check(test.bad, 0)
			require.False(t, r.OK(), "no anomaly was found")
			want := append([]string{class}, test.more...)
			var got []string
			for _, a := range r.Anomalies {
				if !slices.Contains(got, a.Name) {
					got = append(got, a.Name)
				}
			}
			require.ElementsMatch(t, want, got, "%v", r)
			require.Equal(t, test.cycle, circle(r.Anomalies[0]), "%v", r)
			require.Contains(t, r.String(), class)
			require.Contains(t, r.Summary(), "violated: ")
			if test.good != nil {
				r := Check(test.good, 0)
				require.True(t, r.OK(), "%v", r)
				require.Contains(t, r.String(), "nothing is violated")
			}
			if test.si != nil {
				r := Check(test.si, 0)
				require.True(t, r.OK(), "%v", r)
				for i := range test.si.Txs {
					test.si.Txs[i].Level = LevelSerializable
				}
				require.False(t, Check(test.si, 0).OK())
			}
		})
	}
}

// TestLimit: no more than so many anomalies are listed, and the others counted.
func TestLimit(t *testing.T) {
	h := &History{Kind: KindAppend}
	for k := range limit + 10 {
		a := tx(ap(2*k, 1), rl(2*k+1, 2))
		b := tx(ap(2*k+1, 2), rl(2*k, 1))
		a.ID, b.ID = 2*k, 2*k+1
		h.Txs = append(h.Txs, a, b)
	}
	r := Check(h, 0)
	require.Len(t, r.Anomalies, limit)
	require.Equal(t, 10, r.More)
	require.Contains(t, r.String(), "30 anomalies")
	require.Contains(t, r.String(), "and at least 10 more")
	require.Contains(t, r.Summary(), "(and 29 more anomalies)")
}
