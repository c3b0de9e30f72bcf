package mvcc

import (
	"math/bits"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// scanBatch is about how many cells a scan looks at together. In a large map each
// version is a cache miss; taken one key at a time they come one after the other, taken
// together the processor has many under way at once.
const scanBatch = 64

// A held is a place with the head that it held.
type held struct {
	at   place
	head *node
}

// scan calls visit for the place of every key, with its head. It locks nothing and
// allocates nothing that outlives the call. visit returns false to stop; scan reports
// whether it did not.
//
// A key that is there throughout is met exactly once, whatever happens to the table
// meanwhile; one that is inserted or removed meanwhile may be met or not, and twice if
// it is removed and inserted again. A head may have been loaded a while before visit
// gets it.
func (x *index) scan(visit func(p place, head *node) bool) (all bool) {
	if x.tree != nil {
		return x.span(nil, false, visit)
	}
	t := x.table.Load()
	var room [scanBatch + 4*bucketCells]held
	batch := room[:0]
	for i := range t.buckets {
		batch = x.gather(t, uint64(i), t.shift, batch)
		if len(batch) < scanBatch && i < len(t.buckets)-1 {
			continue
		}
		for _, h := range batch {
			h.head.state.Load() // for the cache: loads that do not depend on each other
		}
		for _, h := range batch {
			if !visit(h.at, h.head) {
				return false
			}
		}
		batch = room[:0]
	}
	return true
}

// gather appends what t, and the tables that it moves to, have of the keys whose hashes
// are prefix when shifted by shift.
func (x *index) gather(
	t *hashTable, prefix uint64, shift uint8, batch []held,
) []held {
	if t.shift > shift {
		return x.gatherBucket(t, prefix>>(t.shift-shift), prefix, shift, batch)
	}
	for i := range uint64(1) << (shift - t.shift) {
		at := prefix<<(shift-t.shift) + i
		batch = x.gatherBucket(t, at, at, t.shift, batch)
	}
	return batch
}

// gatherBucket is gather for keys that are all in bucket i of t, or have been.
//
// While the bucket is being moved some of its cells are marked, and the next table has
// those. A key that moves while we look may be met in both, but in one of them at least:
// it is in the next table before it is marked here, and we look here first.
func (x *index) gatherBucket(
	t *hashTable, i, prefix uint64, shift uint8, batch []held,
) []held {
	hooks.Walking()
	b := &t.buckets[i]
	meta := b.meta.Load()
	if meta&bucketMoved != 0 {
		return x.gather(x.after(t), prefix, shift, batch)
	}
	from, moving := len(batch), false
	for {
		for m := meta & highBits; m != 0; m &= m - 1 {
			j := uint8(bits.TrailingZeros64(m) / 8)
			switch v := b.cells[j].Load(); {
			case v == x.moved:
				moving = true
			case v == nil:
			case shift == t.shift || x.hash.sum(v.key())>>shift == prefix:
				batch = append(batch, held{place{b, j}, v})
			}
		}
		if b = b.after(); b == nil {
			break
		}
		meta = b.meta.Load()
	}
	if !moving {
		return batch
	}
	here := len(batch)
	batch = x.gather(x.after(t), prefix, shift, batch)
	all := batch[:here]
	for _, there := range batch[here:] {
		if !x.hasKey(batch[from:here], there.head) {
			all = append(all, there)
		}
	}
	return all
}

func (x *index) hasKey(batch []held, v *node) bool {
	for _, h := range batch {
		if x.hash.same(h.head, v) {
			return true
		}
	}
	return false
}

// bytes returns about what the buckets take.
func (x *index) bytes() (n uint64) {
	if x.tree != nil {
		return treeOf(x).Bytes()
	}
	for t := x.table.Load(); t != nil; t = t.next.Load() {
		n += uint64(len(t.buckets)) * uint64(unsafe.Sizeof(bucket{}))
		n += uint64(t.needed.Load()+t.crowded.Load()) * uint64(unsafe.Sizeof(overflow{}))
	}
	return n
}
