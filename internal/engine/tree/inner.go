package tree

import (
	"sync/atomic"
	"unsafe"
)

const (
	groups = 7
	fanout = 8 * groups // the most kids of an inner node: 1,016 bytes, and 8 of the allocator
)

// A separator is a place among keys: that of the key with slice s if the order is exact; otherwise
// that of the key at key, and s has no meaning. Those in inner nodes are the least keys that may be
// to their right, and are copies, so that they keep no version's key alive.
type separator struct {
	s   uint64
	key unsafe.Pointer
	inf bool // beyond all keys
}

// separatorOf returns the place of the key at key. It keeps the address, for the time of a call.
func (t *Tree) separatorOf(key unsafe.Pointer) separator {
	if t.order.exact() {
		return separator{s: t.order.slice(key, 0)}
	}
	return separator{key: key}
}

// compare compares a and b, of which neither is beyond all keys.
func (t *Tree) compare(a, b separator) int {
	if t.order.exact() {
		return less(b.s, a.s) - less(a.s, b.s)
	}
	return t.order.callCompare(a.key, b.key)
}

// Only the kids of an inner node change, under the mutex of the tree: a leaf is replaced by a leaf
// of the same range, and an inner node by a copy. Kid i has keys from sep i-1 on, below sep i.
//
// The allocator puts 8 bytes before the node: so a search loads its first cache line, and the two
// of a group.
type inner struct {
	n, level uint8 // level 0: kids are leaves
	// check says that a key looked for may differ in the first skip bits, which the seps have in
	// common.
	check  bool
	stale  bool // another node has taken its place: under the mutex of the tree
	skip   uint32
	pivots [groups - 1]uint64          // the last sep of each group but one
	keys   *[fanout - 1]unsafe.Pointer // nil for exact orders
	low    separator
	high   separator
	_      [8]byte
	groups [groups]group
}

// A group has 8 kids, and the slices of the seps that follow each of them. The slices from number
// n-1 on have all bits set.
type group struct {
	seps [8]uint64
	kids [8]unsafe.Pointer
}

func (p *inner) kidAt(i int) unsafe.Pointer {
	return atomic.LoadPointer(&p.group(i >> 3).kids[i&7])
}

// group returns group g, which exists.
func (p *inner) group(g int) *group {
	return (*group)(unsafe.Add(unsafe.Pointer(&p.groups), uintptr(g)*unsafe.Sizeof(group{})))
}

func (p *inner) leafAt(i int) *Leaf { return (*Leaf)(p.kidAt(i)) }

func (p *inner) set(i int, kid unsafe.Pointer) {
	atomic.StorePointer(&p.groups[i>>3].kids[i&7], kid)
}

// put puts kid i, and the slice of the sep behind it, into a node that nobody else has.
func (p *inner) put(i int, kid unsafe.Pointer, s uint64) {
	g := &p.groups[i>>3]
	g.kids[i&7], g.seps[i&7] = kid, s
}

func (p *inner) slice(i int) uint64 { return p.groups[i>>3].seps[i&7] }

// separatorAt returns sep i, from -1, the lower end of the node, to n-1, its upper end.
func (p *inner) separatorAt(i int) separator {
	switch {
	case i < 0:
		return p.low
	case i >= int(p.n)-1:
		return p.high
	case p.keys == nil:
		return separator{s: p.slice(i)}
	}
	return separator{key: p.keys[i]}
}

// below returns how many seps have slices below s: without branches.
func (p *inner) below(s uint64) int {
	v := &p.pivots
	g := less(v[0], s) + less(v[1], s) + less(v[2], s) + less(v[3], s) + less(v[4], s) + less(v[5], s)
	y := p.group(g)
	atomic.LoadPointer(&y.kids[0]) // for the cache
	x := &y.seps
	return g*8 + less(x[0], s) + less(x[1], s) + less(x[2], s) + less(x[3], s) +
		less(x[4], s) + less(x[5], s) + less(x[6], s) + less(x[7], s)
}

// fillRest fills the fields that follow from the first n-1 seps.
func (p *inner) fillRest() {
	for i := int(p.n) - 1; i < fanout; i++ {
		p.groups[i>>3].seps[i&7] = 1<<64 - 1
	}
	for i := range p.pivots {
		p.pivots[i] = p.groups[i].seps[7]
	}
}

// kidsAndSeps returns the kids of p and the seps between them.
func (p *inner) kidsAndSeps() (kids []unsafe.Pointer, seps []separator) {
	n := int(p.n)
	kids, seps = make([]unsafe.Pointer, n, n+2), make([]separator, n-1, n+1)
	for i := range kids {
		kids[i] = p.kidAt(i)
	}
	for i := range seps {
		seps[i] = p.separatorAt(i)
	}
	return kids, seps
}

// child returns the number of the kid of p for a key, or, with strict, of the kid for the keys just
// below the key.
func (t *Tree) child(p *inner, at separator, strict bool) int {
	n := int(p.n) - 1
	if t.order.exact() {
		switch {
		case strict:
			return p.below(at.s)
		case at.s == 1<<64-1:
			return n
		}
		return p.below(at.s + 1)
	}
	key := at.key
	lo, hi := 0, n
	if n > 0 && t.order.kind != kindNone {
		if p.check {
			if c := t.beside(p, key); c < 0 {
				return 0
			} else if c > 0 {
				return n
			}
		}
		s := t.order.slice(key, p.skip)
		lo = p.below(s)
		for hi = lo; hi < n && p.slice(hi) == s; hi++ {
		}
		if lo == hi {
			return lo
		}
	}
	least := 0
	if strict {
		least = 1
	}
	for lo < hi { // the first sep that is above key, or if strict at it or above
		mid := int(uint(lo+hi) >> 1)
		if t.order.callCompare(key, p.keys[mid]) >= least {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// beside returns 0 if the key begins with the bits that all seps of p have in common; else -1 if it
// is below all seps, or 1 if it is above.
func (t *Tree) beside(p *inner, key unsafe.Pointer) int {
	if t.order.kind == kindText { // whole bytes
		text, first := *(*string)(key), (*(*string)(p.keys[0]))[:p.skip/8]
		head := text[:min(len(text), len(first))]
		switch {
		case head < first:
			return -1
		case head > first:
			return 1
		}
		return 0
	}
	if t.order.common(unkept(key), p.keys[0]) >= p.skip {
		return 0
	}
	if t.order.callCompare(key, p.keys[0]) < 0 {
		return -1
	}
	return 1
}
