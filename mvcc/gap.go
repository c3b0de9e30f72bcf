package mvcc

import (
	"slices"
	"unsafe"
)

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

// behindGap returns the part of r, or of all keys if r is nil, that a loop must visit: if r begins
// in a gap, the rest behind the gap. ok is false if there is no rest.
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
