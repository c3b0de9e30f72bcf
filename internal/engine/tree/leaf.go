package tree

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	hooked "github.com/mvccmap/mvccmap/internal/debug/hooks/atomic"
)

// A Head is the target of a cell: the newest version of a key. Its key is a fixed number of bytes
// behind its beginning.
type Head struct{ _ byte }

// A Cell is where the head of one key's chain stands: nil once the key was removed.
type Cell = hooked.Pointer[Head]

// Cap is how many entries a leaf has at most: 512 bytes are whole cache lines, and the largest
// class of the allocator for objects with pointers that has no header.
const Cap = 30

// A Leaf has up to Cap entries, for keys of one range. An entry is written once, before word counts
// it, and its key never changes. Its cell changes, by compare-and-swap. The first entries, the
// base, are in the order of their keys; word says where the entries added later belong.
type Leaf struct {
	// meta: 30 visits that are asked for | listed | moved, above 32 bits skip: how many first bits
	// all keys have in common that belong here.
	meta  atomic.Uint64
	cells [Cap]Cell
	// word, from the lowest bit: 6 bytes, one for each entry added, in their order: 3 bits its
	// number, 5 bits before which entry of the base it comes | 3 bits how many were added | 5 bits
	// base | locked | dead
	word atomic.Uint64
	repl atomic.Pointer[replacement]
	// marks counts, in its low half, heads that were put on top of others, and in its high half
	// empty cells.
	marks  atomic.Uint64
	slices [Cap]atomic.Uint64 // those that word does not count have no meaning yet
}

// CellsAt is how many bytes behind its beginning a leaf has its cells.
const CellsAt = unsafe.Offsetof(Leaf{}.cells)

const (
	maxAdded = 6
	addBits  = 8 * maxAdded
	addMask  = 1<<addBits - 1
	addUnit  = 1 << addBits
	baseUnit = 1 << (addBits + 3)
	locked   = 1 << (addBits + 8)
	dead     = 1 << (addBits + 9)

	firstVisit = 1 << 32
	allVisits  = firstVisit * (1<<Cap - 1)
	listed     = 1 << 62
	moved      = 1 << 63

	goneUnit = 1 << 32 // in marks
)

// A word is Leaf.word.
type word uint64

func (w word) added() int     { return int(w >> addBits & 7) }
func (w word) baseCount() int { return int(w / baseUnit & 31) }
func (w word) usedCount() int { return w.baseCount() + w.added() }
func (w word) isDead() bool   { return w&dead != 0 }

// isFull reports whether there is no room for one more.
func (w word) isFull() bool { return w.usedCount() == Cap || w.added() == maxAdded }

// inserted returns w with one more entry, which has r entries before it. An entry behind all others
// extends the base if nothing was added to it yet: so keys that come in order fill a leaf.
func (w word) inserted(r int) word {
	if w.added() == 0 && r == w.baseCount() {
		return w + baseUnit
	}
	q := 0
	for ; q < w.added() && int(w>>(8*q+3)&31)+q < r; q++ {
	}
	low := word(1)<<(8*q) - 1
	return w&low | word((r-q)<<3|w.added())<<(8*q) | w&addMask&^low<<8 | (w&^addMask + addUnit)
}

// order returns the numbers of the entries in the order of their keys. It puts them into out,
// unless nothing was added: then it returns inOrder.
func (w word) order(out *order) *order {
	if w.added() == 0 {
		return &inOrder
	}
	n, i, b := 0, 0, w.baseCount()
	for q := range w.added() {
		e := w >> (8 * q)
		before := int(e >> 3 & 31)
		out.copyFrom(n, i)
		n += before - i
		i = before
		out[n&63] = uint8(b) + uint8(e&7)
		n++
	}
	out.copyFrom(n, i)
	return out
}

// An order is the numbers of the entries of a leaf in the order of their keys. It has room for more
// numbers than a leaf has entries, since copyFrom always copies 32.
type order [64]uint8

// copyFrom copies the numbers from i on to place n and behind.
func (o *order) copyFrom(n, i int) { *(*[32]uint8)(o[n&31:]) = *(*[32]uint8)(inOrder[i&31:]) }

// inOrder is the order of a leaf to which nothing was added.
var inOrder = func() (out order) {
	for i := range out {
		out[i] = uint8(i)
	}
	return out
}()

func (l *Leaf) load() word { return word(l.word.Load()) }

func (l *Leaf) skippedBits() uint32 { return uint32(l.meta.Load()) }

// rawCell is a cell for accesses that are no yield points: those of goroutines that hold the lock
// of the leaf, or look at cells of other keys than their own.
func (l *Leaf) rawCell(i int) *unsafe.Pointer {
	return (*unsafe.Pointer)(unsafe.Pointer(&l.cells[i]))
}

func (l *Leaf) rawLoad(i int) *Head { return (*Head)(atomic.LoadPointer(l.rawCell(i))) }

func (l *Leaf) rawStore(i int, h *Head) { atomic.StorePointer(l.rawCell(i), unsafe.Pointer(h)) }

func (l *Leaf) rawSwap(i int, old, h *Head) bool {
	return atomic.CompareAndSwapPointer(l.rawCell(i), unsafe.Pointer(old), unsafe.Pointer(h))
}

// sameSlice returns a bit for each entry that w counts and whose slice is s: without branches, so
// that a processor looks up several keys at a time.
func (l *Leaf) sameSlice(w word, s uint64) uint32 {
	x := &l.slices
	m := equal(x[0].Load(), s) | equal(x[1].Load(), s)<<1 | equal(x[2].Load(), s)<<2 |
		equal(x[3].Load(), s)<<3 | equal(x[4].Load(), s)<<4 | equal(x[5].Load(), s)<<5 |
		equal(x[6].Load(), s)<<6 | equal(x[7].Load(), s)<<7 | equal(x[8].Load(), s)<<8 |
		equal(x[9].Load(), s)<<9 | equal(x[10].Load(), s)<<10 | equal(x[11].Load(), s)<<11 |
		equal(x[12].Load(), s)<<12 | equal(x[13].Load(), s)<<13 | equal(x[14].Load(), s)<<14 |
		equal(x[15].Load(), s)<<15 | equal(x[16].Load(), s)<<16 | equal(x[17].Load(), s)<<17 |
		equal(x[18].Load(), s)<<18 | equal(x[19].Load(), s)<<19 | equal(x[20].Load(), s)<<20 |
		equal(x[21].Load(), s)<<21 | equal(x[22].Load(), s)<<22 | equal(x[23].Load(), s)<<23 |
		equal(x[24].Load(), s)<<24 | equal(x[25].Load(), s)<<25 | equal(x[26].Load(), s)<<26 |
		equal(x[27].Load(), s)<<27 | equal(x[28].Load(), s)<<28 | equal(x[29].Load(), s)<<29
	return m & (1<<w.usedCount() - 1)
}

// below returns how many of the entries that w counts have slices below s.
func (l *Leaf) below(w word, s uint64) (n int) {
	for i := range l.slices[:w.usedCount()] {
		n += less(l.slices[i].Load(), s)
	}
	return n
}

// lowest returns the number of the lowest bit of m, which has one.
func lowest(m uint32) int { return bits.TrailingZeros32(m) & 31 }

func countOnes(m uint32) int { return bits.OnesCount32(m) }

func equal(a, b uint64) uint32 {
	var x uint32
	if a == b {
		x = 1
	}
	return x
}

func less(a, b uint64) int {
	var x int
	if a < b {
		x = 1
	}
	return x
}

// liveCells returns how many cells of the leaf are not empty.
func (l *Leaf) liveCells() (n int) {
	for i := range l.load().usedCount() {
		if l.rawLoad(i) != nil {
			n++
		}
	}
	return n
}

// A replacement has the leaves that have replaced a leaf, until the parent has them.
type replacement struct {
	left, right *Leaf     // right is nil if there is one leaf only
	sep         separator // the least key that may be in right
	low, high   separator // the range of both: wider than the leaf's, if it was merged with another
	to          [Cap]uint8
}

// The parts of replacement.to, which says where an entry is now: its number in the new leaf.
const (
	toRight = 0x80
	toNone  = 0xff // the entry was empty
)

func (r *replacement) where(i int) (*Leaf, int) {
	switch j := r.to[i]; {
	case j == toNone:
		return nil, 0
	case j&toRight != 0:
		return r.right, int(j &^ toRight)
	default:
		return r.left, int(j)
	}
}
