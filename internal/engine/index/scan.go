package index

import (
	"math/bits"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/tree"
)

// scanBatch is about how many cells a scan loads together. In a large map each version is a cache
// miss: the processor has many under way at once if it is not given one key at a time.
const scanBatch = 64

// A held is a place with the head that it held.
type held struct {
	at   Place
	head *chain.Node
}

// Scan calls visit for the place of every key, with its head. It locks nothing and
// allocates nothing that outlives the call. visit returns false to stop; Scan reports whether visit
// never did.
//
// A key that is there throughout is met exactly once, whatever happens to the table
// meanwhile; one that is inserted or removed meanwhile may be met or not, and twice if
// it is removed and inserted again. A head may have been loaded a while before visit
// gets it.
func (x *Index) Scan(visit func(p Place, head *chain.Node) bool) (all bool) {
	if x.tree != nil {
		return x.Span(nil, false, visit)
	}
	t := x.table.Load()
	var room [scanBatch + 4*BucketCells]held
	batch := room[:0]
	for i := range t.buckets {
		batch = x.gather(t, uint64(i), t.shift, batch)
		if len(batch) < scanBatch && i < len(t.buckets)-1 {
			continue
		}
		for _, h := range batch {
			h.head.State.Load() // for the cache: loads that do not depend on each other
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

// gather appends the heads in t, and in the tables that it moves to, of the keys whose
// hashes are prefix when shifted by shift.
func (x *Index) gather(
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

// gatherBucket is gather for keys that all are, or have been, in bucket i of t.
//
// While the bucket is being moved some of its cells are marked, and their keys are in the next
// table. A key that moves while we look is met in at least one of both, since it is in the next
// table before it is marked here, and we look here first.
func (x *Index) gatherBucket(
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
			case v == x.Moved:
				moving = true
			case v == nil:
			case shift == t.shift || x.Hash.Sum(v.Key())>>shift == prefix:
				batch = append(batch, held{Place{b, j}, v})
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

func (x *Index) hasKey(batch []held, v *chain.Node) bool {
	for _, h := range batch {
		if x.Hash.Equal(h.head.Key(), v.Key()) {
			return true
		}
	}
	return false
}

// Bytes returns about the memory of the buckets.
func (x *Index) Bytes() (n uint64) {
	if x.tree != nil {
		return treeOf(x).Bytes()
	}
	for t := x.table.Load(); t != nil; t = t.next.Load() {
		n += uint64(len(t.buckets)) * uint64(unsafe.Sizeof(Bucket{}))
		n += uint64(t.needed.Load()+t.crowded.Load()) * uint64(unsafe.Sizeof(overflow{}))
	}
	return n
}

// Ask asks for a visit of p, where key, whose hash is h, was found. It is one load if the visit is
// asked for already. It hands the bucket over, unless the bucket is listed.
func (x *Index) Ask(p Place, h uint64, key unsafe.Pointer) {
	if x.IsAsked(p) {
		return
	}
	if b := x.List(p, h, key); b != nil {
		x.Visit(b)
	}
}

// IsAsked reports whether one load shows that a visit of the key at p has been asked for already.
// It is false in a tree, and for nowhere.
func (x *Index) IsAsked(p Place) bool {
	return x.tree == nil && p.Bucket != nil && // alone, so that this is inlined
		p.Bucket.meta.Load()&(firstVisit<<p.I|bucketMoved) == firstVisit<<p.I
}

// List is Ask, but the caller hands over the bucket that List returns, if any.
func (x *Index) List(p Place, h uint64, key unsafe.Pointer) *Bucket {
	if x.tree != nil {
		return x.listInTree(p, key)
	}
	for !p.Nowhere() {
		// The mover that says that the bucket has moved takes over the visits asked for
		// until then.
		meta := p.Bucket.meta.Load()
		if meta&(firstVisit<<p.I|bucketMoved) != firstVisit<<p.I {
			meta = p.Bucket.meta.Or(firstVisit<<p.I | bucketListed)
		}
		switch {
		case meta&bucketMoved != 0:
			p, _ = x.Find(h, key)
		case meta&bucketListed == 0:
			return p.Bucket
		default:
			return nil
		}
	}
	return nil
}

// MaxVisits is the largest number of cells handed over for visits.
const MaxVisits = tree.Cap

// Asked clears the visits that were asked for in b. It returns a bit for each cell to be visited,
// and puts the heads of these cells into heads: by the head a key is found even if its cell moves.
// It returns 0 if b is being moved: its mover asks for the same visits elsewhere.
func (x *Index) Asked(b *Bucket, heads *[MaxVisits]*chain.Node) (visits uint32) {
	if x.tree != nil {
		return treeOf(x).Asked(leafAt(b), (*[MaxVisits]*tree.Head)(unsafe.Pointer(heads)))
	}
	for {
		meta := b.meta.Load()
		moving := meta&bucketMoved != 0
		visits = uint32(meta & allVisits / firstVisit)
		for m := visits; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m)
			heads[i] = b.cells[i].Load()
			moving = moving || heads[i] == x.Moved
		}
		if moving {
			return 0
		}
		hooks.At(hooks.VisitsLoaded)
		if b.meta.CompareAndSwap(meta, meta&^(allVisits|bucketListed)) {
			return visits
		}
	}
}

// Waiting returns a bit for each cell of b for which a visit is asked.
func (x *Index) Waiting(b *Bucket) uint32 {
	if x.tree != nil {
		return leafAt(b).Waiting()
	}
	return uint32(b.meta.Load() & allVisits / firstVisit)
}

// Touch loads the word of b, for the cache.
func (x *Index) Touch(b *Bucket) { b.meta.Load() }

// Prefetch loads the words that a visit of b will need first.
func (x *Index) Prefetch(b *Bucket) {
	for m := x.Waiting(b); m != 0; m &= m - 1 {
		if v := (Place{b, uint8(bits.TrailingZeros32(m))}).Load(); v != nil {
			v.State.Load()
		}
	}
}
