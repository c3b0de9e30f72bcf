package index

import (
	"math/bits"
	"runtime"
	stdatomic "sync/atomic"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/pin"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/tree"
)

// A spot is where a key may be put into a chain of buckets: a free cell, or if there
// is none the last bucket.
type spot struct {
	b     *Bucket
	free  int    // the cell, or -1
	edits uint64 // of the chain, before it was looked through
}

// lookInChain looks for a key in the chain that begins at b, and returns the key's place, or the
// spot where the key may be put. It takes no lock: the spot is good if the chain has the same edits
// once it is locked. marked says that b is being moved: a cell of b is marked.
func (x *Index) lookInChain(
	b *Bucket, tag uint64, key unsafe.Pointer,
) (p Place, s spot, marked bool) {
	s = spot{free: -1, edits: b.edits()}
	for {
		meta := b.meta.Load()
		for m := matching(meta, tag); m != 0; m &= m - 1 {
			i := uint8(bits.TrailingZeros64(m) / 8)
			switch v := rawLoad(&b.cells[i]); {
			case v == x.Moved:
				marked = true
			case v != nil && x.Hash.Equal(v.Key(), key):
				return Place{b, i}, s, false
			}
		}
		if free := matching(meta, 0); s.free < 0 && free != 0 {
			s.b, s.free = b, bits.TrailingZeros64(free)/8
		}
		o := b.over.Load()
		if o == nil {
			break
		}
		b = &o.bucket
	}
	if s.free < 0 {
		s.b = b
	}
	return p, s, marked
}

// edits returns how often keys were put into the chain or taken out of it, if it has
// more than one bucket.
func (b *Bucket) edits() uint64 {
	if o := b.over.Load(); o != nil {
		return o.edits.Load()
	}
	return 0
}

// edited counts an edit. b, the first bucket of the chain, is locked.
func (b *Bucket) edited() {
	if o := b.over.Load(); o != nil {
		o.edits.Add(1)
	}
}

// A Gate is a pointer that an insert looks at under the lock.
type Gate = tree.Gate

// Insert gives v's key, whose hash is h, a cell with v as its head, if the key has no cell. If it
// has one, Insert returns the key's place, or nowhere if the gate is shut. It may wait for the
// goroutine that holds the lock of the bucket, and is pinned. It moves a few buckets if the table
// is being resized.
//
// Of two goroutines that insert the same key only one does: each looks for the key while it holds
// the lock, or finds that nobody has edited the chain since it looked.
func (x *Index) Insert(
	h uint64, v *chain.Node, g Gate,
) (p Place, inserted bool) {
	x.announce(hooks.Write, v.Key())
	if x.tree != nil {
		return x.insertInTree(v, g)
	}
	tag := TagOf(h)
	var spare *overflow
	for t := x.table.Load(); ; {
		if t.next.Load() != nil {
			x.help(t, h)
		}
		b := t.bucket(h)
		p, to, marked := x.lookInChain(b, tag, v.Key())
		if !p.Nowhere() {
			return p, false
		}
		if to.free < 0 && spare == nil {
			spare = new(overflow)
		}
		hooks.At(hooks.InsertLooked)
		if !b.lock() {
			t = x.after(t)
			continue
		}
		if b.over.Load() == nil {
			p, to, marked = x.lookInChain(b, tag, v.Key()) // six cells at most
		} else {
			marked = marked || to.edits != b.edits()
		}
		switch {
		case !p.Nowhere() || g.Shut():
			b.unlock()
			return p, false
		case marked || to.free < 0 && (spare == nil || to.b.over.Load() != nil):
			b.unlock()
			continue
		case to.free >= 0:
			p = Place{to.b, uint8(to.free)}
		default:
			p = Place{&spare.bucket, 0}
		}
		hooks.At(hooks.InsertLocked)
		p.setTag(tag)
		hooks.At(hooks.CellTagged)
		// The head follows the tag: a goroutine that remembers the cell from an earlier look-up
		// loads it without the tag, and others must not miss that goroutine's changes there.
		rawStore(p.Cell(), v)
		if to.free < 0 {
			to.b.over.Store(spare)
		}
		b.edited()
		b.unlock()
		x.entries.Inc()
		if to.free < 0 {
			x.overflowed(t)
		}
		return p, true
	}
}

// setTag sets the tag of a cell that was free. The lock of the chain is held.
func (p Place) setTag(tag uint64) { p.Bucket.meta.Or(tag << (8 * p.I)) }

// Remove takes the key whose head is v out of the index, if v still is its head, and
// reports whether it did. It holds the lock of the bucket meanwhile: so a key that leaves
// does not move, and one that moves does not leave.
//
// The compare-and-swap decides against a goroutine that puts another head on
// top of v. p is a place of the key, or nowhere.
func (x *Index) Remove(p Place, v *chain.Node) bool {
	x.announce(hooks.Write, v.Key())
	if x.tree != nil {
		return x.removeFromTree(p, v)
	}
	h := x.Hash.Sum(v.Key())
	for t := x.table.Load(); ; t = x.after(t) {
		first := t.bucket(h)
		p, head, _ := x.findIn(first, first.meta.Load(), TagOf(h), v.Key())
		if head == v {
			hooks.Before(hooks.Write, unsafe.Pointer(p.Cell()))
		}
		if !first.lock() {
			continue
		}
		hooks.At(hooks.RemoveLocked)
		// v is in this cell, or was replaced as the head: nothing has moved.
		removed := head == v &&
			stdatomic.CompareAndSwapPointer(rawWord(p.Cell()), unsafe.Pointer(v), nil)
		if removed {
			hooks.At(hooks.RemoveEmptied)
			p.freeCell()
			first.edited()
		}
		first.unlock()
		if removed {
			x.entries.Dec()
			hooks.At(hooks.Gone)
		}
		return removed
	}
}

// freeCell takes off the tag of a cell that is empty, and its wanted visit. The lock of the
// chain is held.
func (p Place) freeCell() {
	p.Bucket.meta.And(^(0xff<<(8*p.I) | firstVisit<<p.I)) // after the cell was emptied: see Find
}

// lock locks b, the first bucket of a chain, pins the goroutine, and returns true; unlock undoes
// both. If the bucket has moved, lock does neither and returns false. While another goroutine holds
// the lock, lock yields.
func (b *Bucket) lock() bool {
	for n := 1; ; n++ {
		meta := b.meta.Load()
		switch {
		case meta&bucketMoved != 0:
			return false
		case meta&bucketLocked != 0:
			if n%lockSpins == 0 {
				runtime.Gosched()
			}
		default:
			pinLocker()
			if b.meta.CompareAndSwap(meta, meta|bucketLocked) {
				return true
			}
			unpinLocker()
		}
	}
}

func (b *Bucket) unlock() {
	b.meta.And(^uint64(bucketLocked))
	unpinLocker()
}

// PassLocks returns when all locks of buckets that were held when it was called have been let go.
func (x *Index) PassLocks() {
	if x.tree != nil {
		treeOf(x).PassLocks()
		return
	}
	for t := x.table.Load(); ; {
		for i := range t.buckets {
			if b := &t.buckets[i]; b.lock() {
				b.unlock()
			}
		}
		next := x.after(t) // even if t has been replaced meanwhile
		if next == t {
			return
		}
		t = next
	}
}

// lockSpins is how often to look at a lock before yielding.
const lockSpins = 32

// With hooks a goroutine must not be pinned: a test stops the goroutine before it is unpinned, or
// runs it as a coroutine, which the runtime does not pin.
func pinLocker() {
	if !hooks.Enabled {
		pin.Pin()
	}
}

func unpinLocker() {
	if !hooks.Enabled {
		pin.Unpin()
	}
}

// rawWord returns the word of a cell for the holder of the lock of its bucket, whose
// accesses are no yield points.
func rawWord(s *Cell) *unsafe.Pointer {
	return (*unsafe.Pointer)(unsafe.Pointer(s))
}

func rawLoad(s *Cell) *chain.Node {
	return (*chain.Node)(stdatomic.LoadPointer(rawWord(s)))
}

func rawStore(s *Cell, v *chain.Node) {
	stdatomic.StorePointer(rawWord(s), unsafe.Pointer(v))
}
