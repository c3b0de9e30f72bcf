package tree

import (
	"sync/atomic"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// A spare has the memory of a replacement: it is allocated before the lock is taken.
type spare struct {
	leaves [2]*Leaf
	repls  [2]*replacement
}

func (s *spare) allocate() {
	if s.leaves[0] == nil {
		*s = spare{[2]*Leaf{{}, {}}, [2]*replacement{{}, {}}}
	}
}

// A filling replaces one leaf, or two that are neighbours, by one or two new ones, without empty
// cells, and perhaps with a new key. All of them are locked.
type filling struct {
	tree *Tree
	made spare
	from [2]struct {
		l *Leaf
		w word
	}
	sources int
	all     [2*Cap + 1]entry
	n       int
	sep     separator // where the one leaf is to be divided into two: inf if it is not
	right   uint32    // a bit for each entry of the one leaf that goes to the right, by its number
	cut     int       // how many go to the left leaf
	at      Place     // of the new key
	visits  [2]*Leaf  // to be handed over
	listed  int
}

// An entry is one that the new leaves get.
type entry struct {
	head *Head
	from uint8 // the number of its leaf << 5 and its own, or fresh
}

const fresh = 0xff // it is the new key's

// rightBit returns the bit of the entry in filling.right: for the new key bit 31, no number's.
func (e entry) rightBit() uint32 { return 1 << (e.from & 31) }

// fullEnough is the most entries that go into one leaf.
const fullEnough = Cap - 4

// gather adds the entries of l, whose word was w, and head h at rank r if it is not nil.
func (f *filling) gather(l *Leaf, w word, r int, h *Head) {
	x := f.sources
	f.from[x].l, f.from[x].w = l, w
	f.sources++
	var room order
	order := w.order(&room)
	for j := 0; ; j++ {
		if h != nil && j == r {
			f.all[f.n] = entry{h, fresh}
			f.n++
		}
		if j == w.usedCount() {
			return
		}
		i := int(order[j&31])
		f.made.repls[x].to[i] = toNone
		if head := l.rawLoad(i); head != nil {
			f.all[f.n] = entry{head, uint8(x<<5 | i)}
			f.n++
		}
	}
}

// leaves returns by how many the number of leaves grows.
func (f *filling) leaves() int {
	if f.cut < f.n {
		return 2 - f.sources
	}
	return 1 - f.sources
}

// split divides the entries as planned, and decides on the common prefix of the keys of the new
// leaves, which are from low to high.
func (f *filling) split(low, high separator) {
	t := f.tree
	f.cut = f.n
	if !f.sep.inf && f.n > fullEnough {
		f.divide()
	}
	skip := f.from[0].l.skippedBits()
	for _, s := range f.from[1:f.sources] {
		skip = min(skip, s.l.skippedBits())
	}
	a, b := f.made.leaves[0], f.made.leaves[1]
	middle := separator{inf: true}
	if f.cut < f.n {
		middle = f.sep
		a.meta.Store(uint64(max(skip, t.order.commonOf(low, middle))))
		b.meta.Store(uint64(max(skip, t.order.commonOf(middle, high))))
	} else {
		a.meta.Store(uint64(max(skip, t.order.commonOf(low, high))))
		b = nil
	}
	for x := range f.sources {
		r := f.made.repls[x]
		r.left, r.right, r.sep, r.low, r.high = a, b, middle, low, high
	}
}

// divide puts the entries that go to the right behind the others.
func (f *filling) divide() {
	var right [Cap + 1]entry
	n := 0
	f.cut = 0
	for _, e := range f.all[:f.n] {
		if f.right&e.rightBit() != 0 {
			right[n] = e
			n++
		} else {
			f.all[f.cut] = e
			f.cut++
		}
	}
	copy(f.all[f.cut:], right[:n])
}

// place returns where entry j goes.
func (f *filling) place(j int) Place {
	if j < f.cut {
		return Place{f.made.leaves[0], uint8(j)}
	}
	return Place{f.made.leaves[1], uint8(j - f.cut)}
}

// moveEntries fills the new leaves, and marks the entries of the old ones, which then say that they
// are dead.
func (f *filling) moveEntries() {
	t := f.tree
	for j, e := range f.all[:f.n] {
		p := f.place(j)
		i := int(p.I)
		plain := p.Leaf // nobody else has it
		if e.from == fresh || plain.skippedBits() != f.from[e.from>>5].l.skippedBits() {
			setWord(&plain.slices[i], t.order.slice(t.key(e.head), plain.skippedBits()))
		} else {
			setWord(&plain.slices[i], f.from[e.from>>5].l.slices[e.from&31].Load())
		}
		setPointer(plain.rawCell(i), unsafe.Pointer(e.head))
		if e.from == fresh {
			f.at = p
			continue
		}
		to := p.I
		if j >= f.cut {
			to |= toRight
		}
		f.made.repls[e.from>>5].to[e.from&31] = to
	}
	setWord(&f.made.leaves[0].word, uint64(f.cut)*baseUnit)
	setWord(&f.made.leaves[1].word, uint64(f.n-f.cut)*baseUnit)
	hooks.At(hooks.LeavesFilled)
	for x := range f.sources {
		f.from[x].l.repl.Store(f.made.repls[x]) // T5: must precede the marks
	}
	for j, e := range f.all[:f.n] {
		if e.from == fresh {
			continue
		}
		from, i := f.from[e.from>>5].l, int(e.from&31)
		head, to := e.head, f.place(j)
		for !from.rawSwap(i, head, t.Moved) {
			if head = from.rawLoad(i); head == nil {
				to.Leaf.marks.Add(goneUnit)
			}
			to.Leaf.rawStore(int(to.I), head) // T2: must precede the mark
		}
		hooks.At(hooks.CellFilled)
	}
	for x := range f.sources {
		l := f.from[x].l
		f.askAgain(x, l.meta.Or(moved)) // later visits are asked for in the new leaves
		hooks.At(hooks.CellsMoved)
		l.word.Store(uint64(f.from[x].w | dead)) // linearization point of an insert
	}
}

// askAgain asks in the new leaves for the visits that were asked for in old leaf x. Nobody locks
// the new leaves yet.
func (f *filling) askAgain(x int, asked uint64) {
	for m := uint32(asked & allVisits / firstVisit); m != 0; m &= m - 1 {
		if l, i := f.made.repls[x].where(lowest(m)); l != nil {
			if was := l.meta.Or(firstVisit<<i | listed); was&listed == 0 {
				f.visits[f.listed] = l
				f.listed++
			}
		}
	}
}

// handOver hands over the leaves that are to be visited.
func (f *filling) handOver() {
	for _, l := range f.visits[:f.listed] {
		f.tree.Visit(l)
	}
}

// setWord and setPointer write words that nobody else has yet.
func setWord(p *atomic.Uint64, x uint64) { *(*uint64)(unsafe.Pointer(p)) = x }

func setPointer(p *unsafe.Pointer, x unsafe.Pointer) { *p = x }
