package history

// The order of the versions of a list is that of the longest list that was read.
// Values that were appended but are not in it come after all of it.

// appendKey finds the edges of one key of an append history.
func (c *checker) appendKey(k int32) {
	ks := c.keys[k]
	longest := none
	for i := range ks.readers {
		if longest == none || len(ks.readers[i].list) > len(ks.readers[longest].list) {
			longest = i
		}
	}
	var order []int
	if longest != none {
		order = ks.readers[longest].list
	}
	// Transaction who[p] wrote version p. No transaction wrote version 0, the empty list,
	// nor a version that must not be there.
	who := make([]int32, 1, len(order)+1)
	who[0] = none
	for p, value := range order {
		who = append(who, c.element(k, ks.readers[longest].tx, order, p, value))
	}
	c.dirty(k, order, who)
	next := make([]int32, len(who)+1) // the version after p that has a writer; 0: none
	prev := int32(0)                  // the last version that has a writer
	for p := len(who) - 1; p > 0; p-- {
		next[p-1] = next[p]
		if who[p] != none {
			next[p-1] = int32(p)
		}
	}
	for p := 1; p < len(who); p++ {
		if who[p] == none {
			continue
		}
		if prev > 0 {
			c.addEdge(edge{kind: WW, fromTx: who[prev], toTx: who[p], key: k,
				commit: c.writeOf(k, order[p-1]).merge,
				before: c.version(order, prev), after: c.version(order, int32(p))})
		}
		prev = int32(p)
	}
	var late []writer // of versions that are not in the order
	for i := range ks.writers {
		w := &ks.writers[i]
		if c.writeOf(k, w.lastVersion().Value).pos == 0 {
			late = append(late, *w)
			continue
		}
		c.whole(k, w, order)
	}
	for i := range late {
		if prev > 0 {
			c.addEdge(edge{kind: WW, fromTx: who[prev], toTx: late[i].tx, key: k,
				commit: c.writeOf(k, late[i].lastVersion().Value).merge,
				before: c.version(order, prev), after: late[i].lastVersion()})
		}
	}
	for i := range ks.readers {
		r := &ks.readers[i]
		if !samePrefix(order, r.list, len(r.list)) {
			c.reportFork(k, r, ks.readers[longest])
			r.pos = none
			continue
		}
		r.pos = int32(len(r.list))
		read := c.version(order, r.pos)
		from := who[r.pos]
		if from == r.tx {
			c.wrong("internal", k, []int32{r.tx}, "the transaction read %v before it appended %d itself",
				r.list, read.Value)
			continue
		}
		if from != none {
			c.addEdge(edge{kind: WR, fromTx: from, toTx: r.tx, key: k, before: read, after: read})
			if w := c.writeOf(k, read.Value); !w.final {
				c.wrong("G1b", k, []int32{r.tx, from}, "T%d read %v, which was not the last that T%d wrote",
					c.id(r.tx), r.list, c.id(from))
				continue
			}
		}
		if p := next[r.pos]; p != 0 {
			c.addEdge(edge{kind: RW, fromTx: r.tx, toTx: who[p], key: k, commit: r.update,
				before: read, after: c.version(order, p)})
			continue
		}
		for j := range late {
			c.addEdge(edge{kind: RW, fromTx: r.tx, toTx: late[j].tx, key: k, commit: r.update,
				before: read, after: late[j].lastVersion()})
		}
	}
}

// whole reports an append that is missing before the last one of its transaction,
// or comes after it. Appends of others between them make a cycle.
func (c *checker) whole(k int32, w *writer, order []int) {
	before := int32(0)
	for _, value := range w.own {
		at := c.writeOf(k, value).pos
		if at <= before {
			c.wrong("incompatible order", k, []int32{w.tx}, "T%d appended %v, and the list is %v",
				c.id(w.tx), w.own, order)
			return
		}
		before = at
	}
}

func (c *checker) version(order []int, p int32) Version {
	if p == 0 {
		return Version{}
	}
	return Version{order[p-1], true}
}

// element looks at one element of the longest list and returns the transaction
// that wrote it, or none if the element must not be there.
func (c *checker) element(k, reader int32, order []int, p, value int) int32 {
	w := c.writeOf(k, value)
	switch {
	case w == nil:
		c.unwritten(k, reader, order, value)
		return none
	case w.pos != 0:
		c.wrong("duplicate", k, []int32{reader, w.tx}, "T%d read %v: %d is in it twice",
			c.id(reader), order, value)
		return none
	}
	w.pos = int32(p + 1)
	if !c.committed(w.tx) {
		c.unwritten(k, reader, order, value)
		return none
	}
	return w.tx
}

// unwritten reports a read of a value that nobody wrote, or that was rolled back.
func (c *checker) unwritten(k, reader int32, list any, value int) {
	w := c.writeOf(k, value)
	if w == nil {
		c.wrong("garbage read", k, []int32{reader}, "T%d read %v: nobody wrote %d",
			c.id(reader), list, value)
		return
	}
	c.wrong("G1a", k, []int32{reader, w.tx}, "T%d read %v: T%d, which wrote %d, was rolled back",
		c.id(reader), list, c.id(w.tx), value)
}

// dirty reports commits on top of something that was rolled back.
func (c *checker) dirty(k int32, order []int, who []int32) {
	for p := 1; p+1 < len(who); p++ {
		w := c.writeOf(k, order[p-1])
		if who[p] == none && who[p+1] != none && w != nil && !c.committed(w.tx) {
			c.wrong("dirty update", k, []int32{who[p+1], w.tx},
				"T%d appended %d to a list that ends with %d, which T%d wrote before it was rolled back",
				c.id(who[p+1]), order[p], order[p-1], c.id(w.tx))
		}
	}
}

// reportFork reports two lists if neither begins with the other.
func (c *checker) reportFork(k int32, r *reader, longest reader) {
	c.wrong("incompatible order", k, []int32{r.tx, longest.tx}, "T%d read %v and T%d read %v",
		c.id(r.tx), r.list, c.id(longest.tx), longest.list)
	for _, value := range r.list {
		if w := c.writeOf(k, value); w == nil || w.pos == 0 && !c.committed(w.tx) {
			c.unwritten(k, r.tx, r.list, value)
		}
	}
}
