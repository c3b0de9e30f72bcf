package history

import "slices"

// When the moments of transactions were at the earliest and at the latest: not
// before the transaction began, nor before a moment that comes before, and not
// after it ended, nor after a moment that comes after. For registers, real time
// orders the versions, and so the tighter the bounds the more is known.

// rounds is how often the edges of registers are looked for with tighter bounds.
const rounds = 4

// bounds sets the bounds to what is known from the transactions themselves.
func (c *checker) bounds() {
	c.lo, c.hi = make([]int64, len(c.g.tx)), make([]int64, len(c.g.tx))
	for v, i := range c.g.tx {
		c.lo[v], c.hi[v] = c.h.Txs[i].Begin, c.txs[i].end
	}
}

// tighten carries the bounds along the edges. It reports whether that changed
// anything; not if the edges make a circle, where bounds have no meaning.
func (c *checker) tighten() bool {
	g := &c.g
	g.close()
	before := make([]int32, len(g.tx)) // edges from nodes that are not in order
	for _, h := range g.to {
		before[h.to]++
	}
	order := make([]int32, 0, len(g.tx))
	for v := range g.tx {
		if before[v] == 0 {
			order = append(order, int32(v))
		}
	}
	for i := 0; i < len(order); i++ {
		for _, h := range g.out(order[i]) {
			if before[h.to]--; before[h.to] == 0 {
				order = append(order, h.to)
			}
		}
	}
	if len(order) < len(g.tx) {
		return false
	}
	changed := false
	for _, v := range order {
		for _, h := range g.out(v) {
			if c.lo[h.to] < c.lo[v] {
				c.lo[h.to], changed = c.lo[v], true
			}
		}
	}
	for _, v := range slices.Backward(order) {
		for _, h := range g.out(v) {
			if c.hi[v] > c.hi[h.to] {
				c.hi[v], changed = c.hi[h.to], true
			}
		}
	}
	return changed
}

// registers finds the edges of all keys of a register history.
func (c *checker) registers() {
	anomalies, more := len(c.report.Anomalies), c.report.More
	for round := 1; ; round++ {
		for k := range c.keys {
			c.registerKey(int32(k))
		}
		if len(c.report.Anomalies) > anomalies || round == rounds || !c.tighten() {
			return
		}
		c.report.More = more
		c.g.edges = c.g.edges[:0]
	}
}
