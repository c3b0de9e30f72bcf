package history

import (
	"cmp"
	"math"
	"slices"
)

// The order of the versions of a register is known in part:
//
//   - the absence at the start is the first version;
//   - a transaction that read v and wrote w put w directly behind v;
//   - a version whose writer ended before the writer of another began is before
//     it, and what a transaction reads is not before a version whose writer ended
//     before the transaction began (real time).
//
// Which absence a transaction has seen is known if only one delete, or only the
// start, is possible in real time.

// A span is when a version was made.
type span struct {
	begin, end int64
	w          int32 // index in writers
}

// registerOrder is what is known of the versions of a register. Version p > 0 was
// written by writers[p-1], version 0 is the absence at the start.
type registerOrder struct {
	c       *checker
	k       int32
	writers []writer
	byBegin []span  // by begin
	leastE  []int64 // leastE[i]: the least end of byBegin[i:]
	byEnd   []span  // by end
	mostB   []int64 // mostB[i]: the greatest begin of byEnd[:i+1]
	deletes []span  // by begin
	mostE   []int64 // mostE[i]: the greatest end of deletes[:i+1]
	next    []int32 // next[p]: the version directly behind p; 0: not known
	known   []bool  // known[p]: the version directly before p is known
}

// registerKey finds the edges of one key of a register history.
func (c *checker) registerKey(k int32) {
	ks := c.keys[k]
	o := c.registerOrder(k)
	for i := range ks.readers {
		ks.readers[i].pos = o.resolve(&ks.readers[i])
	}
	place := map[int32]int32{} // version by transaction
	for i := range o.writers {
		place[o.writers[i].tx] = int32(i + 1)
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

func (c *checker) registerOrder(k int32) *registerOrder {
	ks := c.keys[k]
	o := &registerOrder{c: c, k: k, writers: ks.writers}
	o.next = make([]int32, len(ks.writers)+1)
	o.known = make([]bool, len(ks.writers)+1)
	for i := range ks.writers {
		w := &ks.writers[i]
		w.pos = int32(i + 1)
		s := span{c.h.Txs[w.tx].Begin, c.h.Txs[w.tx].End, int32(i)}
		o.byBegin = append(o.byBegin, s)
		o.byEnd = append(o.byEnd, s)
		if w.value.Present {
			c.writeOf(k, w.value.Value).pos = w.pos
		} else {
			o.deletes = append(o.deletes, s)
		}
	}
	byBegin := func(a, b span) int { return cmp.Compare(a.begin, b.begin) }
	slices.SortFunc(o.byBegin, byBegin)
	slices.SortFunc(o.deletes, byBegin)
	slices.SortFunc(o.byEnd, func(a, b span) int { return cmp.Compare(a.end, b.end) })
	o.leastE = make([]int64, len(o.byBegin))
	least := int64(math.MaxInt64)
	for i := len(o.byBegin) - 1; i >= 0; i-- {
		least = min(least, o.byBegin[i].end)
		o.leastE[i] = least
	}
	most := int64(math.MinInt64)
	for _, s := range o.byEnd {
		most = max(most, s.begin)
		o.mostB = append(o.mostB, most)
	}
	most = math.MinInt64
	for _, s := range o.deletes {
		most = max(most, s.end)
		o.mostE = append(o.mostE, most)
	}
	return o
}

// after returns the versions whose writers began after end, but for those that
// come after another of them in real time anyway.
func (o *registerOrder) after(end int64) (versions []int32) {
	i, _ := slices.BinarySearchFunc(o.byBegin, end, func(s span, end int64) int {
		if s.begin <= end {
			return -1
		}
		return 1
	})
	for j := i; j < len(o.byBegin) && o.byBegin[j].begin <= o.leastE[i]; j++ {
		versions = append(versions, o.byBegin[j].w+1)
	}
	return versions
}

// endedBefore returns how many of byEnd had ended before begin.
func (o *registerOrder) endedBefore(begin int64) int {
	n, _ := slices.BinarySearchFunc(o.byEnd, begin, func(s span, begin int64) int {
		if s.end < begin {
			return -1
		}
		return 1
	})
	return n
}

// before returns the versions whose writers had ended before begin, but for those
// that come before another of them in real time anyway.
func (o *registerOrder) before(begin int64) (versions []int32) {
	n := o.endedBefore(begin)
	for j := n - 1; j >= 0 && o.byEnd[j].end >= o.mostB[n-1]; j-- {
		versions = append(versions, o.byEnd[j].w+1)
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
		c.wrong("internal", o.k, []int32{r.tx}, "the transaction read %v before it wrote it itself", r.value)
	case !c.committed(w.tx):
		c.unwritten(o.k, r.tx, r.value, r.value.Value)
		if r.writes {
			c.wrong("dirty update", o.k, []int32{r.tx, w.tx},
				"T%d replaced %v, which T%d wrote before it was rolled back", c.id(r.tx), r.value, c.id(w.tx))
		}
	case !w.final:
		c.wrong("G1b", o.k, []int32{r.tx, w.tx}, "T%d read %v, which T%d wrote in between, and not as its last",
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
	begin, end := c.h.Txs[r.tx].Begin, c.h.Txs[r.tx].End
	last, over := int64(math.MinInt64), none
	if n := o.endedBefore(begin); n > 0 {
		last = o.mostB[n-1]
		over = n - 1
	}
	found, candidates := int32(none), 0
	if over == none {
		found, candidates = 0, 1
	}
	n, _ := slices.BinarySearchFunc(o.deletes, end, func(s span, end int64) int {
		if s.begin <= end {
			return -1
		}
		return 1
	})
	for j := n - 1; j >= 0 && o.mostE[j] >= last && candidates < 2; j-- {
		s := o.deletes[j]
		if s.end < last || o.writers[s.w].tx == r.tx {
			continue
		}
		candidates++
		found = s.w + 1
	}
	switch candidates {
	case 1:
		return found
	case 0:
		for o.byEnd[over].begin != last {
			over--
		}
		w := o.writers[o.byEnd[over].w]
		c.wrong("stale absence", o.k, []int32{r.tx, w.tx},
			"T%d found nothing, though T%d had written %v before, and no delete after that comes into question",
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

// end returns when version p was there at the latest.
func (o *registerOrder) end(p int32) int64 { return o.c.h.Txs[o.tx(p)].End }

// ww notes that version p is before version q; via says whose read shows it.
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
	for _, f := range o.after(o.end(p)) {
		o.ww(q, f, true, 0)
	}
}

// read notes what the reader of a known version is behind of, and what is behind
// it.
func (o *registerOrder) read(r *reader, heads []int32) {
	c := o.c
	rw := func(p int32, realtime bool) {
		c.edge(edge{kind: RW, fromTx: r.tx, toTx: o.tx(p), key: o.k,
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
		for _, p := range o.after(o.end(r.pos)) {
			rw(p, true)
		}
	}
}
