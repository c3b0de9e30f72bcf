package history

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Options are what a check can be told beside the promise.
type Options struct {
	Promise Promise
	// Epochs makes use of the commit epochs that are recorded: they order the
	// versions of a register, where all its writers have one. Only sound if they
	// are what the versions were published with.
	Epochs bool
	// Opacity checks that aborted transactions, too, read what a read-only one
	// could have read at one moment.
	Opacity bool
	// Limit is how many anomalies are listed at most. Default: 20.
	Limit int
}

// Check checks h against a promise.
func Check(h *History, want Promise) *Report { return CheckWith(h, Options{Promise: want}) }

// CheckWith is Check with options.
func CheckWith(h *History, o Options) *Report {
	start := time.Now()
	if o.Limit <= 0 {
		o.Limit = 20
	}
	c := &checker{h: h, o: o, keyOf: map[int]int32{}, written: map[cell]int32{}}
	c.report = &Report{Promise: o.Promise, history: h}
	c.run()
	c.report.Time = time.Since(start)
	return c.report
}

// none is the index of no transaction.
const none = -1

// A cell names a version by what was written.
type cell struct {
	key   int32
	value int
}

// A write is one value that some transaction wrote to a key.
type write struct {
	tx    int32
	final bool  // the last of its transaction for the key
	pos   int32 // of the version in its key's order; 0: not in it
}

// A checker checks one history.
type checker struct {
	h      *History
	o      Options
	report *Report

	keyOf   map[int]int32 // dense index of a key
	keys    []*keyState
	written map[cell]int32 // index in writes
	writes  []write
	txs     []txState
	g       graph
	lo, hi  []int64 // by node: the bounds of its moment (registers)
}

// txState is what the checker knows of a transaction.
type txState struct {
	role role
	end  int64 // maxStamp if it is not known when it ended
	// The nodes of the moments at which it reads and writes: the same one but
	// for a transaction at snapshot level.
	read, write int32
}

// A role says what of a transaction counts.
type role uint8

const (
	out      role = iota // nothing of it is known to have happened
	in                   // it committed
	readOnly             // it was rolled back, but what it read counts
)

const maxStamp = math.MaxInt64

// A keyState is what the checker knows of a key.
type keyState struct {
	key     int
	readers []reader
	writers []writer // transactions that committed a write of the key
	maybe   []int32  // those that deleted it and perhaps committed
}

// A reader is a transaction that read a key before it wrote it, if ever.
type reader struct {
	tx        int32
	writes    bool // it also writes the key
	predicate bool // it read the whole map and did not find the key
	value     int
	present   bool
	list      []int
	pos       int32 // of the version that it read
}

// A writer is a transaction that wrote a key.
type writer struct {
	tx      int32
	value   int // the last one it wrote
	present bool
	own     []int // all it appended
	pos     int32
}

func (c *checker) run() {
	c.index()
	c.settle()
	c.perhaps()
	for i := range c.h.Txs {
		if c.txs[i].role != out {
			c.digest(int32(i))
		}
	}
	c.nodes()
	ops := 0
	for i := range c.h.Txs {
		ops += len(c.h.Txs[i].Ops)
	}
	c.g.edges = make([]edge, 0, ops+ops/2)
	if c.h.Kind == KindAppend {
		for k := range c.keys {
			c.appendKey(int32(k))
		}
	} else {
		c.bounds()
		c.registers()
	}
	c.report.Edges = len(c.g.edges)
	c.realTime()
	c.cycles()
	c.lostUpdates()
	for i := range c.txs {
		if c.txs[i].role != out {
			c.report.Txs++
		}
	}
}

// found reports an anomaly.
func (c *checker) found(a Anomaly) {
	if len(c.report.Anomalies) >= c.o.Limit {
		c.report.More++
		return
	}
	c.report.Anomalies = append(c.report.Anomalies, a)
}

// wrong reports an anomaly of key that is no cycle. One of a kind is listed for
// each key: others often follow from it.
func (c *checker) wrong(name string, k int32, txs []int32, format string, args ...any) {
	if slices.ContainsFunc(c.report.Anomalies, func(a Anomaly) bool { return a.Cycle == nil && a.Name == name && a.Key == c.keys[k].key }) {
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

// keyIndex returns the dense index of key.
func (c *checker) keyIndex(key int) int32 {
	k, ok := c.keyOf[key]
	if !ok {
		k = int32(len(c.keys))
		c.keyOf[key] = k
		c.keys = append(c.keys, &keyState{key: key})
	}
	return k
}

// index notes who wrote what.
func (c *checker) index() {
	c.txs = make([]txState, len(c.h.Txs))
	var last []int32 // by key: the write that was its transaction's last so far
	for i := range c.h.Txs {
		for _, op := range c.h.Txs[i].Ops {
			k := c.keyIndex(op.Key)
			for len(last) < len(c.keys) {
				last = append(last, none)
			}
			if op.Kind == OpDelete {
				last[k] = none // what it wrote before was not its last
				continue
			}
			if op.Kind != OpAppend && op.Kind != OpWrite {
				continue
			}
			at := cell{k, op.Value}
			if w, twice := c.written[at]; twice {
				c.wrong("duplicate", k, []int32{c.writes[w].tx, int32(i)}, "%d was written twice: nobody can tell which one is read", op.Value)
				continue
			}
			w := int32(len(c.writes))
			c.written[at] = w
			c.writes = append(c.writes, write{tx: int32(i)})
			last[k] = w
		}
		for _, op := range c.h.Txs[i].Ops {
			if k := c.keyOf[op.Key]; last[k] != none {
				c.writes[last[k]].final = true
				last[k] = none
			}
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

// settle decides which transactions count: those that committed, and those that
// perhaps did and were seen, directly or not, by one that counts.
func (c *checker) settle() {
	var queue []int32
	add := func(i int32, r role, end int64) {
		c.txs[i].role, c.txs[i].end = r, end
		queue = append(queue, i)
	}
	for i := range c.h.Txs {
		switch tx := &c.h.Txs[i]; {
		case tx.Status == StatusCommitted:
			add(int32(i), in, tx.End)
		case tx.Status == StatusAborted && c.o.Opacity:
			add(int32(i), readOnly, tx.End)
		}
	}
	saw := func(k int32, value int) {
		w := c.writeOf(k, value)
		if w != nil && c.h.Txs[w.tx].Status == StatusUnknown && c.txs[w.tx].role == out {
			add(w.tx, in, c.h.Txs[w.tx].latest())
		}
	}
	maybe := false
	for i := range c.h.Txs {
		maybe = maybe || c.h.Txs[i].Status == StatusUnknown
	}
	longest := make([][]int, len(c.keys)) // by key, of the lists that have been looked at
	for ; maybe && len(queue) > 0; queue = queue[1:] {
		for _, op := range c.h.Txs[queue[0]].Ops {
			switch k := c.keyOf[op.Key]; {
			case op.Kind != OpRead:
			case c.h.Kind == KindAppend:
				known := min(len(op.List), len(longest[k]))
				if !samePrefix(longest[k], op.List, known) {
					known = 0
				} else if len(op.List) > known {
					longest[k] = op.List
				}
				for _, value := range op.List[known:] {
					saw(k, value)
				}
			case op.Present:
				saw(k, op.Value)
			}
		}
	}
}

// perhaps notes the deletes that nobody can have identified.
func (c *checker) perhaps() {
	for i := range c.h.Txs {
		if c.h.Txs[i].Status != StatusUnknown || c.txs[i].role != out {
			continue
		}
		for _, op := range c.h.Txs[i].Ops {
			if op.Kind == OpDelete {
				ks := c.keys[c.keyOf[op.Key]]
				ks.maybe = append(ks.maybe, int32(i))
			}
		}
	}
}

// nodes makes the nodes of the transactions.
func (c *checker) nodes() {
	for i := range c.txs {
		t := &c.txs[i]
		if t.role == out {
			continue
		}
		t.read = c.g.node(int32(i))
		t.write = t.read
		if c.o.Promise == Snapshot && t.role == in && c.h.Txs[i].Level == LevelSnapshot && c.splits(i) {
			t.write = c.g.node(int32(i))
			c.g.inner(t.read, t.write)
		}
	}
}

// splits reports whether transaction i both writes and reads what is not its own:
// otherwise all it does may be at one moment. A list that it has appended to still
// begins with what others wrote.
func (c *checker) splits(i int) bool {
	reads, writes := c.h.Txs[i].Scan, false
	for j, op := range c.h.Txs[i].Ops {
		if op.Kind != OpRead {
			writes = true
			continue
		}
		own := false
		for _, before := range c.h.Txs[i].Ops[:j] {
			own = own || before.Kind != OpRead && before.Key == op.Key && c.h.Kind == KindRegister
		}
		reads = reads || !own
	}
	return reads && writes
}

// edge adds an edge between two transactions, at the moments that its kind is
// about. Whoever writes a version must have begun after the one before it was
// committed, if he has read anything: so ww leads to the reader's moment.
func (c *checker) edge(e edge) {
	if e.fromTx == e.toTx {
		return
	}
	from, to := &c.txs[e.fromTx], &c.txs[e.toTx]
	switch e.kind {
	case RW:
		e.from, e.to = from.read, to.write
	default:
		e.from, e.to = from.write, to.read
	}
	c.g.edges = append(c.g.edges, e)
}
