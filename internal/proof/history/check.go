package history

import (
	"fmt"
	"slices"
	"time"
)

// Check checks that each transaction of h had the promises of its level kept. Keys of a
// KindOneKey history that take longer than patience (0: no limit) are reported as
// undecided, never as right.
func Check(h *History, patience time.Duration) *Report {
	if h.Kind == KindOneKey {
		return checkKeys(h, patience)
	}
	c := &checker{h: h, report: &Report{history: h, Txs: committed(h)}}
	c.keyOf, c.written = map[int]int32{}, map[cell]int32{}
	c.index()
	for i := range h.Txs {
		c.digest(int32(i))
	}
	c.nodes()
	for k := range c.keys {
		c.appendKey(int32(k))
	}
	c.report.Edges = len(c.g.edges)
	c.realTime()
	c.cycles()
	c.lostUpdates()
	return c.report
}

// committed returns how many transactions have committed.
func committed(h *History) (n int) {
	for i := range h.Txs {
		if h.Txs[i].Status == StatusCommitted {
			n++
		}
	}
	return n
}

// limit is how many anomalies are listed at most.
const limit = 20

// none is the index of no transaction.
const none = -1

// A cell names a version by its value.
type cell struct {
	key   int32
	value int
}

// A write is one value that some transaction wrote to a key.
type write struct {
	tx    int32
	final bool  // the last of its transaction for the key
	merge bool  // its transaction did nothing but merge, as far as it wrote the key
	pos   int32 // of the version in its key's order; 0: not in it
}

// A checker checks one history.
type checker struct {
	h      *History
	report *Report

	keyOf   map[int]int32 // dense index of a key
	keys    []*keyState
	written map[cell]int32 // index in writes
	writes  []write
	moments []moments // by transaction
	g       graph
}

// moments are the nodes of the moments at which a transaction reads and writes:
// two at snapshot level, otherwise the same one.
type moments struct{ read, write int32 }

// A keyState is the checker's knowledge of a key.
type keyState struct {
	key     int
	readers []reader
	writers []writer // transactions that committed a write of the key
}

// A reader is a transaction that read a key before it wrote it, if ever.
type reader struct {
	tx     int32
	writes bool // it also writes the key, and not only by merges
	update bool // it read for an update: the list is there when it writes
	list   []int
	pos    int32 // of the version that it read
}

// A writer is a transaction that appended to a key.
type writer struct {
	tx  int32
	own []int // the values
}

// lastVersion is the version that it left.
func (w *writer) lastVersion() Version { return Version{w.own[len(w.own)-1], true} }

// found reports an anomaly.
func (c *checker) found(a Anomaly) {
	if len(c.report.Anomalies) >= limit {
		c.report.More++
		return
	}
	c.report.Anomalies = append(c.report.Anomalies, a)
}

// wrong reports an anomaly of key that is no cycle. Only one of a kind is listed for
// each key: others often follow from it.
func (c *checker) wrong(name string, k int32, txs []int32, format string, args ...any) {
	if slices.ContainsFunc(c.report.Anomalies, func(a Anomaly) bool {
		return a.Cycle == nil && a.Name == name && a.Key == c.keys[k].key
	}) {
		c.report.More++
		return
	}
	a := Anomaly{Name: name, Key: c.keys[k].key, Detail: fmt.Sprintf(format, args...)}
	for _, i := range txs {
		a.Txs = append(a.Txs, c.id(i))
	}
	c.found(a)
}

func (c *checker) id(i int32) int { return c.h.Txs[i].ID }

func (c *checker) committed(i int32) bool { return c.h.Txs[i].Status == StatusCommitted }

// index notes all writes.
func (c *checker) index() {
	for i := range c.h.Txs {
		last := map[int32]int32{} // by key: the write that was the transaction's last so far
		for _, op := range c.h.Txs[i].Ops {
			k, ok := c.keyOf[op.Key]
			if !ok {
				k = int32(len(c.keys))
				c.keyOf[op.Key] = k
				c.keys = append(c.keys, &keyState{key: op.Key})
			}
			if !op.Kind.appends() {
				continue
			}
			at := cell{k, op.Value}
			if w, twice := c.written[at]; twice {
				c.wrong("duplicate", k, []int32{c.writes[w].tx, int32(i)},
					"%d was written twice: nobody can tell which one is read", op.Value)
				continue
			}
			last[k] = int32(len(c.writes))
			c.written[at] = last[k]
			c.writes = append(c.writes, write{tx: int32(i)})
		}
		for _, w := range last {
			c.writes[w].final = true
		}
	}
}

// writeOf returns the write of value to key, or nil if there was none.
func (c *checker) writeOf(k int32, value int) *write {
	if w, ok := c.written[cell{k, value}]; ok {
		return &c.writes[w]
	}
	return nil
}

// nodes makes the nodes of the transactions.
func (c *checker) nodes() {
	c.moments = make([]moments, len(c.h.Txs))
	for i := range c.moments {
		m := &c.moments[i]
		m.read = c.g.nodeOf(int32(i))
		m.write = m.read
		tx := &c.h.Txs[i]
		if tx.Level == LevelSnapshot && c.committed(int32(i)) && c.splits(tx) {
			m.write = c.g.nodeOf(int32(i))
			c.g.inner(m.read, m.write)
		}
	}
}

// splits reports whether tx both writes, and reads writes of others: otherwise all of it may be at
// one moment. A list that it has appended to still begins with writes of others.
func (c *checker) splits(tx *Tx) bool {
	reads, writes := false, false
	for _, op := range tx.Ops {
		reads, writes = reads || !op.Kind.writes(), writes || op.Kind.writes()
	}
	return reads && writes
}

// addEdge adds an edge between two transactions, at the moments that its kind is about. A
// transaction that replaces a version must have begun after the version was committed, if it has
// read anything: so ww leads to the moment of its reads. But a merge may replace a version
// committed after it began. A version that was read for an update was there at both moments.
func (c *checker) addEdge(e edge) {
	if e.fromTx == e.toTx {
		return
	}
	from, to := c.moments[e.fromTx], c.moments[e.toTx]
	e.from, e.to = from.write, to.read
	if e.kind == RW {
		e.from, e.to = from.read, to.write
	}
	switch {
	case !e.commit:
	case e.kind == WW:
		e.to = to.write
	case e.kind == RW:
		e.from = from.write
	}
	c.g.edges = append(c.g.edges, e)
}
