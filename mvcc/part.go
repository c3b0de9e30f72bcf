package mvcc

import (
	"slices"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/engine/hasher"
	"github.com/mvccmap/mvccmap/internal/engine/tree"
)

// A part is the work of a transaction or snapshot in one map. Its state has the part for the map
// that began it. A transaction of a database is begun by the database's root, and has a further
// part for each table that it uses. All parts share one slot, hence one read epoch, record and
// commit epoch. They share one read set and one write set, whose records name their part by number.
// So the steps of a commit, see commit.go, are the same over one map and over many.
type part struct {
	txn // first

	st *txState
	m  *core // the map
	// number is the place in txWork.parts, once the transaction has used the part.
	number uint32
	next   *part // the next of the state's parts for other maps

	*partWork // nil if it has only served snapshots
}

// A partWork has the reads and writes of a transaction in one map that its txWork does not have.
type partWork struct {
	isRare bool    // see rare
	schema *schema // of the map, when the transaction first wrote to it
	// absent has the keys that were read and had no version. Whenever there are fullAbsent of them,
	// repeated keys are taken out, see compact.
	absent     keyList
	fullAbsent int
	grows      int // by how much the commit under way makes the number of keys grow

	rarePart
}

// A rarePart is the part of a partWork that few transactions use: it is written through rare.
type rarePart struct {
	scanned bool // all keys were read
	counted bool // the keys were counted: seen of them as of the read epoch
	seen    int
	ranges  []span // whose keys were all read; from fullRanges on, ranges that touch are joined
	// merges counts how often ranges were joined, which gives them other numbers.
	fullRanges, merges int
	// notes are of the leaves that loops over ranges went along. again says that the commit must
	// loop again: a head was not committed at or before the read epoch, or notes got too many.
	notes []tree.Note
	again bool
	// inOrder has the numbers of the part's writes among the first ordered ones of the transaction,
	// in the order of their keys. The first loop over a range makes it.
	inOrder []int32
	ordered int
	// gaps are spans without a value. Exceptions are the writes numbered lookedAt and above, and
	// the writes in revived, which replace a deletion; see closeGaps.
	gaps     []span
	lookedAt int
	revived  []int32
}

// partOf returns the part of a handle.
func partOf(t *txn) *part { return (*part)(unsafe.Pointer(t)) }

func (p *part) init(st *txState, m *core) {
	p.txn = txn{head: &st.slot.Head, index: m.index, plain: m.plain}
	p.st, p.m = st, m
}

// rare returns the rare part for a write to it, and notes that forget must clear it.
func (p *partWork) rare() *rarePart {
	p.isRare = true
	return &p.rarePart
}

// keptParts is the most tables for which an idle state keeps its parts.
const keptParts = 16

// part returns the state's part in m. Goroutines that call it at the same time get the same part. A
// call that comes after the snapshot was closed makes a part that the state's next transaction or
// snapshot can use as well.
func (st *txState) part(m *core) *part {
	if m == st.m { // a Tx of the map that was converted to one of the database
		return &st.own
	}
	for {
		first := st.others.Load()
		for p := first; p != nil; p = p.next {
			if p.m == m {
				return p
			}
		}
		if !m.used.Load() {
			m.used.Store(true) // before the state can be idle with it
		}
		p := &part{next: first}
		p.init(st, m)
		if st.others.CompareAndSwap(first, p) {
			return p
		}
	}
}

// join makes p one of the parts that the transaction uses, unless p is one already.
func (p *part) join() {
	st := p.st
	if p.number != 0 || p == &st.own {
		return
	}
	st.enter()
	if p.partWork == nil {
		p.partWork = &partWork{fullAbsent: compactReads}
	}
	p.number = uint32(len(st.parts))
	st.parts = append(st.parts, p)
	st.leave()
}

// leaveParts forgets the work of the transaction in all parts but the state's own.
func (st *txState) leaveParts() {
	for _, p := range st.parts[1:] {
		p.forget()
		p.number = 0
	}
	st.parts = append(emptied(st.parts), &st.own)
}

// forget forgets the work of the transaction in one map, for recycle.
func (p *part) forget() {
	if p.absences() > 0 {
		p.absent.empty()
		p.fullAbsent = compactReads
	}
	p.hasWritten, p.hasNoted, p.grows = false, false, 0
	if p.schema != nil {
		p.schema = nil
	}
	if p.isRare {
		p.rarePart = rarePart{ranges: emptied(p.ranges), notes: emptied(p.notes), inOrder: emptied(p.inOrder)}
		p.isRare = false
	}
}

// dropParts drops the parts that an idle state has in other maps, if there are more than keptParts
// or one of these maps was closed: so the state keeps no closed table alive.
func (st *txState) dropParts() {
	n := 0
	for p := st.others.Load(); p != nil; p = p.next {
		if n++; n > keptParts || p.m.closed.Load() {
			st.others.Store(nil)
			return
		}
	}
}

// A keyList has the keys that had no version at the read epoch, and their hashes. A part has a nil
// keyList until it reads such a key.
type keyList interface {
	add(key unsafe.Pointer, hash uint64)
	at(i int) (key unsafe.Pointer, hash uint64) // the key may be used until the call of empty
	len() int
	compact() // drops repeated keys
	empty()
}

type absence[K comparable] struct {
	key  K
	hash uint64
}

type absences[K comparable] struct{ list []absence[K] }

func (a *absences[K]) add(key unsafe.Pointer, hash uint64) {
	a.list = append(a.list, absence[K]{*(*K)(key), hash})
}

func (a *absences[K]) at(i int) (key unsafe.Pointer, hash uint64) {
	one := &a.list[i]
	return unsafe.Pointer(&one.key), one.hash
}

func (a *absences[K]) len() int { return len(a.list) }
func (a *absences[K]) empty()   { a.list = emptied(a.list) }

func (a *absences[K]) compact() {
	seen := make(map[K]struct{})
	a.list = slices.DeleteFunc(a.list, func(one absence[K]) bool { return repeated(seen, one.key) })
}

// absences returns the number of keys that were read and had no version.
func (p *partWork) absences() int {
	if p.absent == nil {
		return 0
	}
	return p.absent.len()
}

// absences returns the number of keys, in all parts, that were read and had no version.
func (w *txWork) absences() (n int) {
	for _, p := range w.parts {
		n += p.absences()
	}
	return n
}

// noteAbsent records that there was no version of the key, which has hash h.
func (p *part) noteAbsent(key unsafe.Pointer, h uint64) {
	p.st.beyond = true
	if p.absent == nil {
		p.absent = p.m.types.absences()
	}
	p.absent.add(hasher.Unkept(key), h)
	if p.absent.len() >= p.fullAbsent {
		p.absent.compact()
		p.fullAbsent = max(compactReads, compactFactor*p.absent.len())
	}
}

// A transaction may take the first key of a range, delete it, and take the first again, many times.
// So that later loops do not pass over all the deleted keys again, a loop notes a gap: a span in
// which the transaction sees no key with a value. A loop that begins in a gap goes on where the gap
// ends. The loops that have noted a gap have read its keys.

const (
	fewPassed = 8  // after how many keys without a value a loop notes a gap
	mostGaps  = 16 // how many gaps a transaction keeps, in each map
)

// closeGaps removes from the gaps the keys to which the transaction has given values since the last
// call.
func (p *part) closeGaps() {
	writes := p.st.writes
	rare := p.rare()
	if len(p.gaps) > 0 {
		for _, i := range p.revived {
			p.split(writes[i].v.Key())
		}
		for i := p.lookedAt; i < len(writes); i++ {
			if w := &writes[i]; w.of == p.number && !w.v.Tombstone() {
				p.split(w.v.Key())
			}
		}
	}
	rare.revived, rare.lookedAt = p.revived[:0], len(writes)
}

// split removes a key from the gaps.
func (p *part) split(key unsafe.Pointer) {
	for i := range p.gaps {
		g := p.gaps[i]
		if p.m.order.Side(&g, key) != 0 {
			continue
		}
		p.gaps[i].High, p.gaps[i].HighExclusive = key, true
		if g.Low, g.LowExclusive = key, true; len(p.gaps) < mostGaps {
			p.gaps = append(p.gaps, g)
		}
		return // gaps have no key in common
	}
}

// addGap notes a gap.
func (p *part) addGap(g span) {
	o, rare := p.m.order, p.rare()
	for i := 0; i < len(rare.gaps); i++ {
		if old := &rare.gaps[i]; o.compareLow(old, &g) <= 0 && o.touches(old, &g) ||
			o.compareLow(old, &g) > 0 && o.touches(&g, old) {
			o.join(&g, old) // and perhaps with others
			rare.gaps = slices.Delete(rare.gaps, i, i+1)
			i--
		}
	}
	if len(rare.gaps) == mostGaps { // the oldest goes
		rare.gaps = slices.Delete(rare.gaps, 0, 1)
	}
	rare.gaps = append(rare.gaps, g)
}

// behindGap returns the part of r, or of all keys if r is nil, that a loop must visit. If r begins
// in a gap, this is the part of r behind the gap; ok is false if no key of r is behind the gap.
func (p *part) behindGap(r *span, down bool) (rest *span, ok bool) {
	var all span
	if r != nil {
		all = *r
	}
	for i := range p.gaps {
		o, g := p.m.order, &p.gaps[i]
		switch {
		case !down && o.compareLow(g, &all) <= 0 && o.touches(g, &all):
			all.Low, all.LowExclusive = g.High, !g.HighExclusive
			return &all, g.High != nil
		case down && o.compareHigh(g, &all) >= 0 && o.touches(&all, g):
			all.High, all.HighExclusive = g.Low, !g.LowExclusive
			return &all, g.Low != nil
		}
	}
	return r, true
}
