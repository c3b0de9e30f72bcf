package history

import "slices"

// effort is how many hops the searches for the shortest cycle of one component
// may take. In a component that is too large for that, a short one is found.
const effort = 30_000_000

// cycles finds the shortest cycle of each strongly connected component. It uses edges of real time
// only if there is no cycle without them.
func (c *checker) cycles() {
	c.g.close()
	for _, realtime := range []bool{false, true} {
		s := search{g: &c.g, realtime: realtime, part: make([]int32, len(c.g.tx))}
		all := c.g.components(realtime)
		for i, nodes := range all {
			for _, v := range nodes {
				s.part[v] = int32(i + 1)
			}
			if len(c.report.Anomalies) >= limit {
				c.report.More++
				continue
			}
			s.left = effort
			c.cycle(s.shortest(nodes))
		}
		if len(all) > 0 {
			return
		}
	}
}

// cycle reports a cycle, given as edges and complements of arcs.
func (c *checker) cycle(hops []int32) {
	a := Anomaly{Cycle: c.label(hops)}
	n, near := [4]int{}, false // how many edges of each kind, and whether rw comes twice in a row
	for i, e := range a.Cycle {
		a.Txs = append(a.Txs, e.From)
		n[e.Kind]++
		near = near || e.Kind == RW && a.Cycle[(i+1)%len(a.Cycle)].Kind == RW
	}
	switch {
	case isLostUpdate(a.Cycle):
		a.Name = "lost update (P4)"
	case n[RW] == 0 && n[WR] == 0:
		a.Name = "G0"
	case n[RW] == 0:
		a.Name = "G1c"
	case n[RW] == 1:
		a.Name = "G-single"
	case near:
		a.Name = "G2-item"
	default:
		a.Name = "G-nonadjacent"
	}
	if n[RT] > 0 {
		a.Name += "-realtime"
	}
	c.found(a)
}

// isLostUpdate reports whether a cycle is of two transactions over one key: one has
// read and written it, and the other wrote it in between.
func isLostUpdate(edges []Edge) bool {
	if len(edges) != 2 || edges[0].Key != edges[1].Key {
		return false
	}
	a, b := edges[0].Kind, edges[1].Kind
	return a == RW && b == RW || a == RW && b == WW || a == WW && b == RW
}

// lostUpdates reports the lost updates that make no cycle: two transactions at snapshot level that
// both replaced one version.
func (c *checker) lostUpdates() {
	type pair struct{ a, b, key int }
	known := map[pair]bool{}
	for _, a := range c.report.Anomalies {
		if len(a.Cycle) == 2 {
			e := a.Cycle[0]
			known[pair{e.From, e.To, e.Key}], known[pair{e.To, e.From, e.Key}] = true, true
		}
	}
	for _, ks := range c.keys {
		first := map[int32]*reader{} // by version: the transaction that replaced it
		for i := range ks.readers {
			r := &ks.readers[i]
			if !r.writes || r.pos == none {
				continue
			}
			f := first[r.pos]
			if f == nil {
				first[r.pos] = r
				continue
			}
			a, b := c.id(f.tx), c.id(r.tx)
			if known[pair{a, b, ks.key}] {
				continue
			}
			read := c.version(f.list, f.pos)
			wrote := func(tx int32) Version {
				i := slices.IndexFunc(ks.writers, func(w writer) bool { return w.tx == tx })
				return ks.writers[i].lastVersion()
			}
			c.found(Anomaly{Name: "lost update (P4)", Key: ks.key, Txs: []int{a, b}, Cycle: []Edge{
				{Kind: RW, From: a, To: b, Key: ks.key, Before: read, After: wrote(r.tx)},
				{Kind: RW, From: b, To: a, Key: ks.key, Before: read, After: wrote(f.tx)},
			}})
		}
	}
}

// label turns hops into edges between transactions. The arcs of a step in real
// time are one edge.
func (c *checker) label(hops []int32) (edges []Edge) {
	g := &c.g
	// Begin where an edge, or the first arc of a step, begins.
	start := 0
	for start < len(hops) && g.steps(hop{edge: hops[start]}) == 0 {
		start++
	}
	hops = slices.Concat(hops[start:], hops[:start])
	for i, x := range hops {
		if x >= 0 {
			e := &g.edges[x]
			edges = append(edges, Edge{Kind: e.kind, From: c.id(e.fromTx), To: c.id(e.toTx),
				Key: c.keys[e.key].key, Before: e.before, After: e.after})
			continue
		}
		if a := g.arcs[^x]; a.counts {
			j := i + 1
			for g.tx[g.arcs[^hops[j%len(hops)]].to] == none {
				j++
			}
			to := g.tx[g.arcs[^hops[j%len(hops)]].to]
			edges = append(edges, Edge{Kind: RT, From: c.id(g.tx[a.from]), To: c.id(to)})
		}
	}
	// The same cycle shall always look the same: begin with the least ID.
	least := 0
	for i := range edges {
		if edges[i].From < edges[least].From {
			least = i
		}
	}
	return slices.Concat(edges[least:], edges[:least])
}

// A search finds shortest cycles. The nodes of one component have the same part.
type search struct {
	g        *graph
	realtime bool
	part     []int32 // by node: its component
	left     int     // hops that may still be looked at

	dist  []int32 // by node, if seen says so
	via   []hop   // by node: how it was reached; its to is the node before
	seen  []int32 // by node: in which round it was reached
	round int32
}

// shortest returns the shortest cycle of a component.
func (s *search) shortest(nodes []int32) (best []int32) {
	limit := int32(1 << 30)
	for _, v := range nodes {
		for _, h := range s.g.hopsFrom(v) {
			if s.g.steps(h) == 0 || !s.g.mayUse(h, s.realtime) || s.part[h.to] != s.part[v] {
				continue
			}
			if d, ok := s.reach(h.to, v, limit-1); ok {
				limit = d + 1
				best = append(s.pathBetween(h.to, v), h.edge)
			}
			if limit == 2 || s.left <= 0 && best != nil {
				return best
			}
		}
	}
	return best
}

// reach finds the shortest way from one node to another, in fewer than limit
// steps. Arcs that are no step are taken at once: a 0-1 breadth-first search.
func (s *search) reach(from, to int32, limit int32) (int32, bool) {
	g := s.g
	if s.seen == nil {
		s.dist, s.via, s.seen = make([]int32, len(g.tx)), make([]hop, len(g.tx)), make([]int32, len(g.tx))
	}
	s.round++
	s.dist[from], s.seen[from], s.via[from] = 0, s.round, hop{none, 0}
	now, later := []int32{from}, []int32(nil)
	for d := int32(0); len(now) > 0 && d < limit; d++ {
		for len(now) > 0 {
			v := now[len(now)-1]
			now = now[:len(now)-1]
			if s.dist[v] != d {
				continue // reached by a shorter way since
			}
			if v == to {
				return d, true
			}
			for _, h := range g.hopsFrom(v) {
				s.left--
				if s.part[h.to] != s.part[v] || !g.mayUse(h, s.realtime) {
					continue
				}
				n := d + g.steps(h)
				if s.seen[h.to] == s.round && s.dist[h.to] <= n {
					continue
				}
				s.seen[h.to], s.dist[h.to], s.via[h.to] = s.round, n, hop{v, h.edge}
				if n == d {
					now = append(now, h.to)
				} else {
					later = append(later, h.to)
				}
			}
		}
		now, later = later, now[:0]
	}
	return 0, false
}

// pathBetween returns the hops of the way that reach found.
func (s *search) pathBetween(from, to int32) (hops []int32) {
	for v := to; v != from; v = s.via[v].to {
		hops = append(hops, s.via[v].edge)
	}
	slices.Reverse(hops)
	return hops
}
