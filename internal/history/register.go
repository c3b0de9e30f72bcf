package history

import "math"

// The order of the versions of a register is known in part:
//
//   - the absence at the start is the first version;
//   - a transaction that read v and wrote w put w directly behind v;
//   - real time: v is before w if the writer of v ended before that of w began; and
//     if the writer of v ended before a transaction began, that does not read a
//     version before v.
//
// Which absence a transaction has seen is known if only one delete, or only the
// start, is possible in real time.

// registerOrder is what is known of the versions of a register. Version p > 0 was
// written by writers[p-1], version 0 is the absence at the start. Each question is
// answered by looking at all of them.
type registerOrder struct {
	c       *checker
	k       int32
	writers []writer
	next    []int32 // next[p]: the version directly behind p; 0: not known
	known   []bool  // known[p]: the version directly before p is known
}

// registerKey finds the edges of one key of a register history.
func (c *checker) registerKey(k int32) {
	ks := c.keys[k]
	o := &registerOrder{c: c, k: k, writers: ks.writers}
	o.next, o.known = make([]int32, len(o.writers)+1), make([]bool, len(o.writers)+1)
	place := map[int32]int32{} // version by transaction
	for i := range o.writers {
		w := &o.writers[i]
		w.pos = int32(i + 1)
		place[w.tx] = w.pos
		if w.value.Present {
			c.writeOf(k, w.value.Value).pos = w.pos
		}
	}
	for i := range ks.readers {
		ks.readers[i].pos = o.resolve(&ks.readers[i])
	}
	for i := range ks.readers {
		r := &ks.readers[i]
		if r.writes && r.pos != none && o.next[r.pos] == 0 {
			p := place[r.tx]
			o.next[r.pos], o.known[p] = p, true
		}
	}
	var heads []int32 // versions that come somewhere behind the start
	for p := 1; p <= len(o.writers); p++ {
		if !o.known[p] {
			heads = append(heads, int32(p))
		}
	}
	starts := 0
	for i := range ks.readers {
		if ks.readers[i].pos == 0 {
			starts++
		}
	}
	if starts*len(heads) > maxProduct {
		heads = o.after(math.MinInt64)
	}
	for p := range o.next {
		o.follow(int32(p), heads)
	}
	for i := range ks.readers {
		if ks.readers[i].pos != none {
			o.read(&ks.readers[i], heads)
		}
	}
}

// span returns when the transaction that wrote version p began and ended.
func (o *registerOrder) span(p int32) (begin, end int64) {
	tx := &o.c.h.Txs[o.tx(p)]
	return tx.Begin, tx.End
}

// after returns the versions with writers that began after end, but for those that
// come after another of them in real time anyway.
func (o *registerOrder) after(end int64) (versions []int32) {
	least := int64(math.MaxInt64)
	for i := range o.writers {
		if b, e := o.span(int32(i + 1)); b > end {
			least = min(least, e)
		}
	}
	for i := range o.writers {
		if b, _ := o.span(int32(i + 1)); b > end && b <= least {
			versions = append(versions, int32(i+1))
		}
	}
	return versions
}

// latest looks at the writers that had ended before begin. It returns the version of the one that
// began last, and when that began; or 0 if there is none.
func (o *registerOrder) latest(begin int64) (version int32, began int64) {
	began = math.MinInt64
	for i := range o.writers {
		if b, e := o.span(int32(i + 1)); e < begin && b > began {
			version, began = int32(i+1), b
		}
	}
	return version, began
}

// before returns the versions with writers that had ended before begin, but for those
// that come before another of them in real time anyway.
func (o *registerOrder) before(begin int64) (versions []int32) {
	_, most := o.latest(begin)
	for i := range o.writers {
		if _, e := o.span(int32(i + 1)); e < begin && e >= most {
			versions = append(versions, int32(i+1))
		}
	}
	return versions
}

// resolve returns the version that r has read, or none if it cannot be known.
func (o *registerOrder) resolve(r *reader) int32 {
	c := o.c
	if !r.value.Present {
		return o.resolveAbsent(r)
	}
	w := c.writeOf(o.k, r.value.Value)
	switch {
	case w == nil:
		c.unwritten(o.k, r.tx, r.value, r.value.Value)
	case w.tx == r.tx:
		c.wrong("internal", o.k, []int32{r.tx}, "the transaction read %v before it wrote it itself",
			r.value)
	case !c.committed(w.tx):
		c.unwritten(o.k, r.tx, r.value, r.value.Value)
		if r.writes {
			c.wrong("dirty update", o.k, []int32{r.tx, w.tx},
				"T%d replaced %v, which T%d wrote before it was rolled back", c.id(r.tx), r.value, c.id(w.tx))
		}
	case !w.final:
		c.wrong("G1b", o.k, []int32{r.tx, w.tx}, "T%d read %v, which was not the last that T%d wrote",
			c.id(r.tx), r.value, c.id(w.tx))
	default:
		return w.pos
	}
	return none
}

// resolveAbsent returns which absence r has seen: the start, or that of a delete.
// An absence is out of the question if a writer that began after it was made had
// ended before r began.
func (o *registerOrder) resolveAbsent(r *reader) int32 {
	c := o.c
	over, last := o.latest(c.h.Txs[r.tx].Begin)
	found, candidates := int32(0), 0
	if over == 0 {
		candidates++ // the start
	}
	for i, w := range o.writers {
		b, e := o.span(int32(i + 1))
		if !w.value.Present && w.tx != r.tx && b <= c.h.Txs[r.tx].End && e >= last {
			candidates++
			found = int32(i + 1)
		}
	}
	switch candidates {
	case 1:
		return found
	case 0:
		w := o.writers[over-1]
		c.wrong("stale absence", o.k, []int32{r.tx, w.tx},
			"T%d found nothing, though T%d had written %v before, and there was no delete that explains it",
			c.id(r.tx), c.id(w.tx), w.value)
	}
	return none
}

func (o *registerOrder) version(p int32) Version {
	if p == 0 {
		return Version{}
	}
	return o.writers[p-1].value
}

func (o *registerOrder) tx(p int32) int32 {
	if p == 0 {
		return none
	}
	return o.writers[p-1].tx
}

// ww notes that version p is before version q; via is the transaction with a read that shows it.
func (o *registerOrder) ww(p, q int32, realtime bool, via int32) {
	if p > 0 && p != q {
		o.c.edge(edge{kind: WW, fromTx: o.tx(p), toTx: o.tx(q), key: o.k,
			before: o.version(p), after: o.version(q), realtime: realtime, via: via})
	}
}

// follow notes what is behind version p.
func (o *registerOrder) follow(p int32, heads []int32) {
	q := o.next[p]
	if q == 0 {
		return
	}
	o.ww(p, q, false, 0)
	// Everything else that is behind p is behind q.
	if p == 0 {
		for _, f := range heads {
			o.ww(q, f, false, 0)
		}
		return
	}
	_, end := o.span(p)
	for _, f := range o.after(end) {
		o.ww(q, f, true, 0)
	}
}

// read notes what comes before and after the reader of a known version.
func (o *registerOrder) read(r *reader, heads []int32) {
	c := o.c
	rw := func(p int32, realtime bool) {
		c.edge(edge{kind: RW, fromTx: r.tx, toTx: o.tx(p), key: o.k, commit: r.update,
			before: o.version(r.pos), after: o.version(p), realtime: realtime})
	}
	if r.pos > 0 {
		c.edge(edge{kind: WR, fromTx: o.tx(r.pos), toTx: r.tx, key: o.k,
			before: o.version(r.pos), after: o.version(r.pos)})
		for _, p := range o.before(c.h.Txs[r.tx].Begin) {
			o.ww(p, r.pos, true, r.tx+1)
		}
	}
	q := o.next[r.pos]
	switch {
	case q != 0 && o.tx(q) != r.tx:
		if !r.writes {
			rw(q, false)
		}
		// Otherwise both are directly behind one version: see lostUpdates.
	case q != 0:
	case r.pos == 0:
		for _, p := range heads {
			rw(p, false)
		}
	default:
		_, end := o.span(r.pos)
		for _, p := range o.after(end) {
			rw(p, true)
		}
	}
}
