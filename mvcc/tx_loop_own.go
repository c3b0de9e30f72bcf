package mvcc

import (
	"slices"
	"sort"

	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// An ownRecord is a write, as far as a loop has to know it.
type ownRecord struct {
	v     *chain.Node
	merge merger
}

// ownRecords returns the writes to the map, in their order.
func (p *part) ownRecords() []ownRecord {
	if !p.hasWritten {
		return nil
	}
	mine := make([]ownRecord, 0, len(p.st.writes))
	for i := range p.st.writes {
		if w := &p.st.writes[i]; w.of == p.number {
			mine = append(mine, ownRecord{w.v, w.merge})
		}
	}
	return mine
}

// An ownRest has the own writes that a loop over a range has still to visit: first those in next,
// in the order of the loop, then those at low up to high in the part's inOrder. The latter are
// copied into next a few at a time, so that a loop that is left at once costs little. All of them
// are copied before one of them, or inOrder, changes, see copyOwn: the loop visits the writes that
// there were when it began. A nil ownRest has none.
type ownRest struct {
	p         *part
	next      []ownRecord
	low, high int
	step      int // how many to copy next
	down      bool
}

// fewOwn is how many own writes a loop copies first.
const fewOwn = 4

// first returns the own write that comes next, or nil.
func (o *ownRest) first() *ownRecord {
	if o == nil {
		return nil
	}
	if len(o.next) == 0 && o.low < o.high {
		o.next = o.next[:0]
		o.copy(o.step)
		o.step *= 2
	}
	if len(o.next) == 0 {
		return nil
	}
	return &o.next[0]
}

// pop takes the own write that comes next from the rest, and returns it. There must be one.
func (o *ownRest) pop() ownRecord {
	w := o.next[0]
	o.next = o.next[1:]
	return w
}

// copy copies up to n own writes.
func (o *ownRest) copy(n int) {
	n = min(n, o.high-o.low)
	for range n {
		at := o.low
		if o.down {
			o.high--
			at = o.high
		} else {
			o.low++
		}
		w := &o.p.st.writes[o.p.inOrder[at]]
		o.next = append(o.next, ownRecord{w.v, w.merge})
	}
}

// end says that the loop has ended. The next loop takes it off the list of loops.
func (o *ownRest) end() {
	if o != nil {
		o.next, o.low, o.high = nil, 0, 0
	}
}

// copyOwn copies the writes that the loops under way have still to visit.
func (st *txState) copyOwn() {
	for i, o := range st.loops {
		o.next = slices.Grow(o.next, o.high-o.low)
		o.copy(o.high - o.low)
		st.loops[i] = nil
	}
	st.loops = st.loops[:0]
}

// ownWrites returns the writes to keys of r, for a loop: nil if there are none.
func (p *part) ownWrites(r *span, down bool) *ownRest {
	if !p.hasWritten {
		return nil
	}
	p.putInOrder()
	writes := p.st.writes
	side := func(i int) int { return p.m.order.Side(r, writes[p.inOrder[i]].v.Key()) }
	n := len(p.inOrder)
	low := sort.Search(n, func(i int) bool { return side(i) >= 0 })
	high := low + sort.Search(n-low, func(i int) bool { return side(low+i) > 0 })
	if low == high {
		return nil
	}
	o := &ownRest{p: p, low: low, high: high, step: fewOwn, down: down}
	loops := p.st.loops
	for len(loops) > 0 && loops[len(loops)-1].low == loops[len(loops)-1].high {
		loops = loops[:len(loops)-1] // this loop has all it needs, or has ended
	}
	p.st.rare().loops = append(loops, o)
	return o
}

// putInOrder brings inOrder up to date: so a transaction that reads and writes in turn, say one
// that inserts the keys it does not find, need not look through all of its writes each time.
func (p *part) putInOrder() {
	writes, compare := p.st.writes, p.m.order.compareNodes
	var added []int32
	for i := p.ordered; i < len(writes); i++ {
		if writes[i].of == p.number {
			added = append(added, int32(i))
		}
	}
	if len(added) > 0 {
		p.st.copyOwn()
	}
	if len(added) > linearWrites {
		// compare may panic: inOrder stays as it is
		slices.SortFunc(added, func(a, b int32) int { return compare(writes[a].v, writes[b].v) })
		all, rest := make([]int32, 0, len(p.inOrder)+len(added)), p.inOrder
		for _, i := range added {
			n := rankOf(rest, i, writes, compare)
			all, rest = append(append(all, rest[:n]...), i), rest[n:]
		}
		p.rare().inOrder = append(all, rest...)
		added = nil
	}
	for _, i := range added {
		at := rankOf(p.inOrder, i, writes, compare)
		rare := p.rare()
		rare.inOrder, rare.ordered = slices.Insert(rare.inOrder, at, i), int(i)+1
	}
	if p.ordered < len(writes) {
		p.rare().ordered = len(writes)
	}
}

// rankOf returns how many of the writes in order come before write i.
func rankOf(
	order []int32, i int32, writes []write, compare func(a, b *chain.Node) int,
) int {
	return sort.Search(len(order), func(j int) bool {
		return compare(writes[order[j]].v, writes[i].v) > 0
	})
}
