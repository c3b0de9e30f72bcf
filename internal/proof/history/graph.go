package history

import (
	"cmp"
	"slices"
)

// An edge is a dependency, between transactions and between nodes of the graph.
type edge struct {
	from, to      int32
	fromTx, toTx  int32
	kind          EdgeKind
	commit        bool // ww: the second is a merge; rw: the first read for an update
	key           int32
	before, after Version
}

// A graph has nodes for the moments of transactions, and for moments of the clock,
// which are in the order of real time. Edges between transactions count as steps. Arcs
// lead from the reads of a transaction to its writes, from its end to the clock, along
// the clock, and from the clock to a begin. They say nothing by themselves.
type graph struct {
	tx    []int32 // by node: the transaction, or none for a moment of the clock
	edges []edge
	arcs  []arc

	first []int32 // by node: its first index in to; one more at the end
	to    []hop
}

// An arc is an edge that has no label of its own.
type arc struct {
	from, to int32
	kind     EdgeKind // RT, or, within one transaction, WW
	counts   bool     // the first arc of a step in real time
}

// A hop is one way to leave a node.
type hop struct {
	to   int32
	edge int32 // index in edges; or the complement of one in arcs
}

func (g *graph) nodeOf(tx int32) int32 {
	g.tx = append(g.tx, tx)
	return int32(len(g.tx) - 1)
}

// inner adds the arc from the reads of a transaction to its writes.
func (g *graph) inner(from, to int32) {
	g.arcs = append(g.arcs, arc{from: from, to: to, kind: WW})
}

// realTime adds an order where one transaction ended before another began. Each end
// that matters is a moment of the clock: a path from one to a later one costs nothing,
// so the number of arcs is linear.
func (c *checker) realTime() {
	g := &c.g
	type stamp struct {
		at   int64
		node int32
	}
	var begins, ends []stamp
	for i, m := range c.moments {
		begins = append(begins, stamp{c.h.Txs[i].Begin, m.read})
		ends = append(ends, stamp{c.h.Txs[i].End, m.write})
	}
	by := func(a, b stamp) int { return cmp.Compare(a.at, b.at) }
	slices.SortFunc(begins, by)
	slices.SortFunc(ends, by)
	clock := int32(none)
	n := 0
	for _, b := range begins {
		if n < len(ends) && ends[n].at < b.at {
			now := g.nodeOf(none)
			if clock != none {
				g.arcs = append(g.arcs, arc{from: clock, to: now, kind: RT})
			}
			clock = now
			for ; n < len(ends) && ends[n].at < b.at; n++ {
				g.arcs = append(g.arcs, arc{from: ends[n].node, to: clock, kind: RT, counts: true})
			}
		}
		if clock != none {
			g.arcs = append(g.arcs, arc{from: clock, to: b.node, kind: RT})
		}
	}
}

// close makes the lists of ways out of each node. No edges may be added after it.
func (g *graph) close() {
	g.first = make([]int32, len(g.tx)+1)
	for i := range g.edges {
		g.first[g.edges[i].from+1]++
	}
	for i := range g.arcs {
		g.first[g.arcs[i].from+1]++
	}
	for i := range g.tx {
		g.first[i+1] += g.first[i]
	}
	at := slices.Clone(g.first)
	g.to = make([]hop, len(g.edges)+len(g.arcs))
	add := func(from, to, edge int32) {
		g.to[at[from]] = hop{to, edge}
		at[from]++
	}
	for i := range g.edges {
		add(g.edges[i].from, g.edges[i].to, int32(i))
	}
	for i := range g.arcs {
		add(g.arcs[i].from, g.arcs[i].to, ^int32(i))
	}
}

func (g *graph) hopsFrom(v int32) []hop { return g.to[g.first[v]:g.first[v+1]] }

// mayUse reports whether a search, with or without real time, may use the hop.
func (g *graph) mayUse(h hop, realtime bool) bool {
	return realtime || h.edge >= 0 || g.arcs[^h.edge].kind == WW
}

// steps returns how many steps between transactions the hop is: 0 or 1.
func (g *graph) steps(h hop) int32 {
	if h.edge >= 0 || g.arcs[^h.edge].counts {
		return 1
	}
	return 0
}

// components returns the strongly connected components of more than one node, by Tarjan's
// algorithm.
func (g *graph) components(realtime bool) (all [][]int32) {
	type frame struct{ v, next int32 }
	index := make([]int32, len(g.tx)) // 0: not met
	low := make([]int32, len(g.tx))
	onStack := make([]bool, len(g.tx))
	var stack []int32
	var frames []frame
	counter := int32(0)
	enter := func(v int32) {
		counter++
		index[v], low[v] = counter, counter
		stack = append(stack, v)
		onStack[v] = true
		frames = append(frames, frame{v, g.first[v]})
	}
	for root := range int32(len(g.tx)) {
		if index[root] != 0 {
			continue
		}
		enter(root)
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			v := f.v
			if f.next < g.first[v+1] {
				h := g.to[f.next]
				f.next++
				switch {
				case !g.mayUse(h, realtime):
				case index[h.to] == 0:
					enter(h.to)
				case onStack[h.to]:
					low[v] = min(low[v], index[h.to])
				}
				continue
			}
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				u := frames[len(frames)-1].v
				low[u] = min(low[u], low[v])
			}
			if low[v] != index[v] {
				continue
			}
			n := len(stack)
			for {
				n--
				onStack[stack[n]] = false
				if stack[n] == v {
					break
				}
			}
			if len(stack)-n > 1 {
				all = append(all, slices.Clone(stack[n:]))
			}
			stack = stack[:n]
		}
	}
	return all
}
