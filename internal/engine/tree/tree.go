package tree

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// Config describes the keys and heads of a tree.
type Config struct {
	Order Order
	// KeyAt is how many bytes behind its beginning a head has its key.
	KeyAt uintptr
	// Size is how many bytes a head has, with its key and the other words that a scan looks at.
	Size uintptr
	// Equal reports whether keys are equal. By Equal the tree notices that the order says 0 for two
	// keys that are not equal. Own returns the address of a copy of a key.
	Equal func(a, b unsafe.Pointer) bool
	Own   func(key unsafe.Pointer) unsafe.Pointer
	// Moved is the mark that stands in cells that have moved.
	Moved *Head
	// Visit is called with a leaf to be visited, once until [Tree.Asked] is called.
	Visit func(l *Leaf)
	// Name describes a key for people.
	Name func(key unsafe.Pointer) any
}

// A Tree is a concurrent B+tree of the heads of chains, see the package's doc. Its methods may be
// called by any number of goroutines at once.
type Tree struct {
	Config
	order Order   // Config.Order
	last  uintptr // for prefetchHeads: the end of its words, or of two cache lines
	root  atomic.Pointer[inner]
	// mu is locked to change inner nodes: for about a microsecond at a time. A goroutine that waits
	// for mu has no leaf locked. One that has mu calls no function of the program, and locks no
	// leaf, except that Tidy locks the one or two leaves that it replaces.
	mu     sync.Mutex
	leaves atomic.Int64
	inners atomic.Int64
}

// New returns an empty tree.
func New(c Config) *Tree {
	t := &Tree{Config: c, order: c.Order, last: min(max(c.Size, 8)-8, 64)}
	open := separator{inf: true}
	root := t.build(0, []unsafe.Pointer{unsafe.Pointer(&Leaf{})}, nil, open, open)
	t.leaves.Add(1)
	t.root.Store(root)
	return t
}

// Bytes returns about the memory of the nodes.
func (t *Tree) Bytes() uint64 {
	return uint64(t.leaves.Load())*uint64(unsafe.Sizeof(Leaf{})) +
		uint64(t.inners.Load())*uint64(unsafe.Sizeof(inner{})+8)
}

// key returns where the key of h is.
func (t *Tree) key(h *Head) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(h), t.KeyAt) }

// A Place is a cell, as it is found: cell I of a leaf, or nowhere if that is nil. The cell stays
// that of its key for ever; its contents say whether the key's head still stands there.
type Place struct {
	Leaf *Leaf
	I    uint8
}

// Cell returns the cell.
func (p Place) Cell() *Cell { return &p.Leaf.cells[p.I] }

// maxDepth is more than the depth of any tree: each node has at least 14 kids when it is made from
// a full node.
const maxDepth = 18

// A path is the inner nodes from the root to the parent of a leaf, and which of their kids is next.
type path struct {
	steps [maxDepth]step
	n     int
}

type step struct {
	p *inner
	i int
}

func (w *path) lastStep() step { return w.steps[w.n-1] }

// parent returns the lowest inner node for a key, and the number of its kid for the key. With
// strict it returns those for the keys just below the key. It may call compare.
func (t *Tree) parent(at separator, strict bool) (*inner, int) {
	for p := t.root.Load(); ; {
		i := t.child(p, at, strict)
		if p.level == 0 {
			return p, i
		}
		p = (*inner)(p.kidAt(i))
	}
}

// descend finds the parent for a key, and notes the whole path to it.
func (t *Tree) descend(at separator, w *path) {
	p := t.root.Load()
	for w.n = 0; ; {
		i := t.child(p, at, false)
		w.steps[w.n] = step{p, i}
		if w.n++; p.level == 0 {
			return
		}
		p = (*inner)(p.kidAt(i))
	}
}

// after returns the leaf that has a key, or with strict the keys just below it, now that l has been
// replaced. It returns nil if l was replaced so long ago that the parent has the new leaves.
func (t *Tree) after(l *Leaf, at separator, strict bool) *Leaf {
	r := l.repl.Load()
	if r == nil {
		return nil
	}
	return t.pickLeaf(r, at, strict)
}

func (t *Tree) pickLeaf(r *replacement, at separator, strict bool) *Leaf {
	if r.right == nil {
		return r.left
	}
	if c := t.compare(at, r.sep); c < 0 || strict && c == 0 {
		return r.left
	}
	return r.right
}

// resolve returns the place and head of entry i of l, wherever they are now; the head is nil if the
// cell is empty. ok is false if l was replaced so long ago that one has to look from the root.
func (t *Tree) resolve(l *Leaf, i int) (_ Place, h *Head, ok bool) {
	h = l.rawLoad(i)
	for h == t.Moved {
		r := l.repl.Load()
		if r == nil {
			return Place{}, nil, false
		}
		if l, i = r.where(i); l == nil {
			return Place{}, nil, true
		}
		h = l.rawLoad(i)
	}
	return Place{l, uint8(i)}, h, true
}

// Find returns the place of the key at key, and the head that its cell held; nil if the key has
// none. It never waits. It calls compare, unless slices are enough.
func (t *Tree) Find(key unsafe.Pointer) (at Place, h *Head) {
	for what := t.separatorOf(key); ; {
		p, c := t.parent(what, false)
		l := p.leafAt(c)
		for i := 0; i < Cap; i += 8 {
			l.rawLoad(i) // for the cache
		}
		for l != nil {
			w := l.load()
			if w.isDead() {
				l = t.after(l, what, false)
				continue
			}
			if at, h, ok := t.search(l, w, what); ok {
				return at, h
			}
			break
		}
	}
}

// search is Find in l, whose word was w.
func (t *Tree) search(l *Leaf, w word, what separator) (at Place, h *Head, ok bool) {
	if t.order.exact() {
		// An empty cell had the key before.
		for m := l.sameSlice(w, what.s); m != 0; m &= m - 1 {
			i := lowest(m)
			h := l.cells[i].Load()
			if h == t.Moved {
				if at, h, ok = t.resolve(l, i); !ok {
					return Place{}, nil, false
				}
			} else {
				at = Place{l, uint8(i)}
			}
			if h != nil {
				return at, h, true
			}
		}
		return Place{}, nil, true
	}
	if t.order.kind == kindText {
		return t.placeOfText(l, l.sameSlice(w, t.order.slice(what.key, l.skippedBits())), what.key)
	}
	r := t.rankOf(l, w, what)
	if r.h != nil && !t.Equal(t.key(r.h), unkept(what.key)) {
		return Place{}, nil, true // the order is none
	}
	return r.at, r.h, r.ok
}

// placeOfText returns the place and head of a text among the entries of m, which have its slice. It
// does not rely on their order, which is lost where the bytes of a key have changed, see planSplit.
func (t *Tree) placeOfText(l *Leaf, m uint32, key unsafe.Pointer) (at Place, h *Head, ok bool) {
	for ; m != 0; m &= m - 1 {
		if at, h, ok = t.resolve(l, lowest(m)); !ok {
			return Place{}, nil, false
		}
		if h != nil && *(*string)(t.key(h)) == *(*string)(key) { // another key may have had the cell
			return at, h, true
		}
	}
	return Place{}, nil, true
}

// A rank says where a key is, or belongs, in a leaf: the entries from lo on, below hi, have it, or
// have had it.
type rank struct {
	lo, hi int
	at     Place // its place and head, if it is there
	h      *Head
	ok     bool // false: the leaf was replaced, look from the root
}

// rankOf returns where a key belongs in l, whose word was w.
func (t *Tree) rankOf(l *Leaf, w word, what separator) (r rank) {
	r.ok = true
	r.hi = w.usedCount()
	var m uint32
	if t.order.kind != kindNone {
		s := what.s
		if !t.order.exact() {
			s = t.order.slice(what.key, l.skippedBits())
		}
		m = l.sameSlice(w, s)
		r.lo = l.below(w, s)
		r.hi = r.lo + countOnes(m)
		if t.order.exact() {
			for ; m != 0 && r.ok && r.h == nil; m &= m - 1 {
				r.at, r.h, r.ok = t.resolve(l, lowest(m))
			}
			return r
		}
		if m == 0 {
			return r
		}
	}
	var room order
	t.among(&r, l, w.order(&room), what.key)
	if r.h == nil && r.ok && t.order.kind == kindText {
		r.at, r.h, r.ok = t.placeOfText(l, m, what.key)
	}
	return r
}

// among looks for the key at key among the entries of rank r.lo to r.hi, and narrows these.
func (t *Tree) among(r *rank, l *Leaf, order *order, key unsafe.Pointer) {
	compare := func(rank int) (c int, empty bool) {
		r.at, r.h, r.ok = t.resolve(l, int(order[rank&31]))
		if r.h == nil {
			return 0, true
		}
		return t.order.callCompare(key, t.key(r.h)), false
	}
	for first := true; r.lo < r.hi; first = false {
		mid := int(uint(r.lo+r.hi) >> 1)
		if first {
			mid = r.hi - 1 // keys may come in order
		}
		// Nothing is known of the key of an empty cell: take the next one that is not.
		at := mid
		c, empty := compare(at)
		for empty && r.ok && at+1 < r.hi {
			at++
			c, empty = compare(at)
		}
		switch {
		case !r.ok:
			return
		case empty: // all from mid on
			r.hi = mid
		case c == 0:
			r.lo, r.hi = at, at+1
			return
		case c > 0:
			r.lo = at + 1
		default:
			r.hi = mid
		}
	}
	r.at, r.h = Place{}, nil
}
