package history

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// one is a one-key operation of key 1 that lasts from begin to end.
func one(begin, end int64, ops ...Op) Tx {
	t := at(begin, end, tx(ops...))
	t.Level = LevelOneKey
	return t
}

func other(key, value int) Op { return Op{Kind: OpOther, Key: key, Value: value} }

func TestLinearizability(t *testing.T) {
	for _, c := range []struct {
		name string
		want bool
		txs  []Tx
	}{
		{"load of nothing", true, []Tx{one(0, 1, rn(1))}},
		{"load out of nowhere", false, []Tx{one(0, 1, rv(1, 3))}},
		{"load after store", true, []Tx{one(0, 1, wr(1, 1)), one(2, 3, rv(1, 1))}},
		{"load before store", false, []Tx{one(0, 1, rv(1, 1)), one(2, 3, wr(1, 1))}},
		{"load beside store", true, []Tx{one(0, 5, wr(1, 1)), one(1, 2, rn(1)), one(3, 4, rv(1, 1))}},
		{"load goes back", false, []Tx{one(0, 5, wr(1, 1)), one(1, 2, rv(1, 1)), one(3, 4, rn(1))}},
		{"load is stale", false, []Tx{one(0, 1, wr(1, 1)), one(2, 3, wr(1, 2)), one(4, 5, rv(1, 1))}},
		{"the ends of an interval belong to it", true, []Tx{one(0, 2, rv(1, 1)), one(2, 3, wr(1, 1))}},
		{"value with absence", false, []Tx{one(0, 1, Op{Kind: OpRead, Key: 1, Value: 1})}},
		{"swap", true, []Tx{one(0, 1, rn(1), wr(1, 1)), one(2, 3, rv(1, 1), wr(1, 2))}},
		{"lost update", false, []Tx{one(0, 1, wr(1, 1)), one(2, 5, rv(1, 1), wr(1, 2)),
			one(2, 5, rv(1, 1), wr(1, 3))}},
		{"its own write", false, []Tx{one(0, 1, rn(1), wr(1, 1), rv(1, 2))}},
		{"deleted twice", false, []Tx{one(0, 1, wr(1, 1)), one(2, 5, rv(1, 1), del(1)),
			one(2, 5, rv(1, 1), del(1))}},
		{"delete", true, []Tx{one(0, 1, wr(1, 1)), one(2, 3, del(1)), one(4, 5, rn(1)),
			one(6, 7, del(1))}},
		{"delete is seen late", false, []Tx{one(0, 1, wr(1, 1)), one(2, 3, del(1)), one(4, 5, rv(1, 1))}},
		{"compare and swap fails", true, []Tx{one(0, 1, wr(1, 1)), one(2, 3, other(1, 3))}},
		{"compare and swap of an absent key fails", true, []Tx{one(2, 3, other(1, 0))}},
		{"compare and swap fails for nothing", false, []Tx{one(0, 1, wr(1, 1)), one(2, 3, other(1, 1))}},
		{"what was rolled back", true, []Tx{aborted(one(0, 1, rn(1), wr(1, 1))), one(2, 3, rn(1))}},
		{"what was rolled back is seen", false, []Tx{aborted(one(0, 1, rn(1), wr(1, 1))),
			one(2, 3, rv(1, 1))}},
		{"what is rolled back has read", false, []Tx{one(0, 1, wr(1, 1)),
			aborted(one(2, 3, rn(1), wr(1, 2)))}},
		{"each key is looked at alone", true, []Tx{one(0, 1, wr(1, 1), wr(2, 2)),
			one(0, 3, rv(1, 1), rn(2))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Check(txs(KindOneKey, append(c.txs, one(0, 100, wr(9, 5)))...), 0)
			require.Zero(t, r.Undecided)
			require.Equal(t, c.want, r.OK(), "%v", r)
			if !c.want {
				require.Equal(t, 1, r.Anomalies[0].Key)
				require.Contains(t, r.Summary(), "not linearizable: ")
			}
		})
	}
}

// Of a long history the wrong part is shown.
func TestViolationIsShort(t *testing.T) {
	h := &History{Kind: KindOneKey}
	for i := range 2000 {
		v, now := i/4+1, int64(10*i)
		var x Tx
		switch i % 4 {
		case 0:
			x = one(now, now+5, wr(0, v))
		case 1:
			x = one(now, now+1, other(0, 1<<40))
		default:
			x = one(now, now+13, rv(0, v))
		}
		x.ID = i
		h.Txs = append(h.Txs, x)
	}
	require.True(t, Check(h, 0).OK())
	h.Txs[1003].Ops[0].Value--
	rand.Shuffle(len(h.Txs), func(i, j int) { h.Txs[i], h.Txs[j] = h.Txs[j], h.Txs[i] })
	r := Check(h, 0)
	require.Equal(t, "1 anomalies in 2000 transactions\n\n"+
		"not linearizable: operations on one key that no order explains\n"+
		"  key 0: 3 operations have no order that explains what they found\n"+
		"    T1002, one-key, committed, goroutine 0, from 10020 to 10033: read 0: 251;\n"+
		"    T1003, one-key, committed, goroutine 0, from 10030 to 10043: read 0: 250;\n"+
		"    T1004, one-key, committed, goroutine 0, from 10040 to 10045: write 0: 252;\n", r.String())
}

// A history that cannot be decided in time is not called right.
func TestTimeout(t *testing.T) {
	var all []Tx
	for i := range 40 { // all at once, and one that no order explains
		all = append(all, one(0, 10, rv(1, i+100), wr(1, i+1)), one(0, 10, wr(1, i+100)))
	}
	r := Check(txs(KindOneKey, append(all, one(20, 21, rv(1, 7777)))...), time.Nanosecond)
	require.True(t, r.OK())
	require.Equal(t, 1, r.Undecided)
}
