package index

import (
	"math/bits"
	stdatomic "sync/atomic"
	"unsafe"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/hasher"
)

// An Index finds the cells of keys. Its user sets Spawn, Wake and Visit before others see it.
type Index struct {
	table stdatomic.Pointer[hashTable]
	Hash  hasher.Hasher // hashes and compares keys
	Moved *chain.Node   // the mark
	// min is the least number of buckets. A table of up to small buckets is made, and moved to, by
	// one insert alone: that takes some microseconds.
	min, small int
	// Spawn runs a function in a goroutine of the background, or returns false.
	Spawn func(f func()) bool
	// Wake sees to it that Tend is called, if there is a background.
	Wake func()
	// Visit is called with a bucket that is to be visited, and not again before it is visited.
	Visit func(b *Bucket)
	// entries counts the keys that have a cell.
	entries *xsync.Counter
	// tree is the index if keys have an order: a *tree.Tree, see treeOf. Then there is no hash
	// table. If keys have no order, tree is nil.
	tree unsafe.Pointer
}

const cacheLine = 128

// A Cell is where the head of one key's chain stands.
type Cell = atomic.Pointer[chain.Node]

// BucketCells is how many cells a bucket has: a bucket is a cache line of 64 bytes.
const BucketCells = 6

// A Bucket has some cells, and for each a byte of the hash of the key that it belongs
// to. The tags let a lookup pass over nearly all cells of other keys.
type Bucket struct {
	// meta has a tag for each cell, 0 if it is free, and some flags. Tags are written
	// under the lock: a tag is set before its cell is filled, and cleared after the cell
	// was emptied.
	meta  stdatomic.Uint64
	cells [BucketCells]Cell
	// over has more cells. It is set once, under the lock of the first bucket of the
	// chain.
	over stdatomic.Pointer[overflow]
}

// An overflow is a further bucket of a chain. The lock is that of the first one.
type overflow struct {
	bucket Bucket // not embedded: its methods would be compiled for each type of map
	// edits counts, in the first overflow of a chain, how often keys were put into the
	// chain or taken out of it.
	edits stdatomic.Uint64
}

// The parts of a bucket's word, above the tags.
const (
	tagBits      = 8 * BucketCells
	bucketLocked = 1 << (tagBits + iota)
	bucketMoved
	bucketListed // the bucket has been handed over for visits
	firstVisit   // the bit for cell 0
	allVisits    = firstVisit * (1<<BucketCells - 1)

	lowBits  = 0x0000010101010101
	highBits = 0x0000808080808080
)

// A Place is a cell, as it is found: number I of a bucket, or of a leaf, or nowhere.
type Place struct {
	Bucket *Bucket // nil if it is nowhere
	I      uint8   // the number of the cell
}

// Nowhere reports whether there is no cell.
func (p Place) Nowhere() bool { return p.Bucket == nil }

// Cell returns the cell: a leaf of a tree has its cells where a bucket has them.
func (p Place) Cell() *Cell {
	return (*Cell)(unsafe.Add(unsafe.Pointer(p.Bucket), cellsAt+uintptr(p.I)*unsafe.Sizeof(Cell{})))
}

// Load returns the contents of the cell.
func (p Place) Load() *chain.Node { return p.Cell().Load() }

// Swap makes v the head in the cell, if head is there still.
func (p Place) Swap(head, v *chain.Node) bool { return p.Cell().CompareAndSwap(head, v) }

const cellsAt = unsafe.Offsetof(Bucket{}.cells)

// TagOf returns the tag of a key with hash h: never 0, and of bits that do not choose
// the bucket.
func TagOf(h uint64) uint64 { return h&0x7f | 0x80 }

// matching returns a word with the highest bit set in each byte of meta that is tag. A
// few others may be set too; the lookup compares the key.
func matching(meta, tag uint64) uint64 {
	x := meta ^ tag*lowBits
	return (x - lowBits) &^ x & highBits
}

// A hashTable is one table of buckets.
type hashTable struct {
	buckets []Bucket
	shift   uint8 // the number of bits of a hash that do not choose the bucket
	// next is the table that buckets move to, from when it is announced until all have
	// moved; see after.
	next stdatomic.Pointer[hashTable]

	_ [cacheLine]byte
	// resizing is set by the goroutine that announces the next table. taken counts the buckets
	// that somebody has taken to move, and done those that have moved.
	resizing stdatomic.Bool
	taken    stdatomic.Int64
	done     stdatomic.Int64

	// needed counts the overflows that moving keys to the table took, and crowded those that
	// inserts have added since.
	needed, crowded stdatomic.Int64
}

func newHashTable(buckets int) *hashTable {
	return &hashTable{
		buckets: make([]Bucket, buckets),
		shift:   uint8(64 - bits.TrailingZeros(uint(buckets))),
	}
}

// bucket returns the first bucket of the chain for hash h. A table has at least two.
func (t *hashTable) bucket(h uint64) *Bucket {
	return (*Bucket)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(t.buckets)),
		uintptr(h>>(t.shift&63))*unsafe.Sizeof(Bucket{})))
}

// MinBuckets is how many buckets an empty index has, and fill how many keys a bucket
// has on average when the table grows, in quarters.
const (
	MinBuckets = 8
	maxBuckets = 1 << (bits.UintSize - 8) // more than there is memory for
	smallTable = 128
	fill       = 18
)

// For returns an index of a map from K to V with room for capacity keys.
func For[K comparable, V any](capacity int) *Index {
	var zero K
	return New(hasher.New[K](), chain.Bare[K, V](zero), capacity)
}

// New returns an index with room for capacity keys, that hash hashes. The mark is a version of
// no key.
func New(hash hasher.Hasher, mark *chain.Node, capacity int) *Index {
	x := &Index{
		Hash:    hash,
		Moved:   mark,
		min:     MinBuckets,
		small:   smallTable,
		Spawn:   func(func()) bool { return false },
		Wake:    func() {},
		Visit:   func(*Bucket) {},
		entries: xsync.NewCounter(),
	}
	x.Moved.State.Store(uint64(chain.Special(chain.KindMark)))
	for x.min < maxBuckets && x.min*fill/4 < capacity {
		x.min *= 2
	}
	x.table.Store(newHashTable(x.min))
	return x
}

// Len returns how many keys have a cell: about as many, while there are inserts and removals.
func (x *Index) Len() int { return max(int(x.entries.Value()), 0) }

// Ordered reports whether keys are in an order, see InOrder.
func (x *Index) Ordered() bool { return x.tree != nil }

// IsHead reports whether v, which was loaded from a cell, is the head of a key.
func (x *Index) IsHead(v *chain.Node) bool { return v != nil && v != x.Moved }

// ZeroMap is the message of a panic: the map that is used is a zero value, which has no index.
const ZeroMap = "mvcc: the Map is a zero value: make one with mvcc.New"

// Lookup returns the hash of key, and the results of [Index.Find]. It hashes the most common types
// of keys by itself, and looks by itself only in the first bucket of the key's chain, where nearly
// every key is: a processor works on several lookups at a time if all their instructions fit into
// its window, which saves most of the time of a lookup in a large map. It panics with a runtime
// error if key cannot be hashed. Of the index it alone is compiled for each type of keys.
func Lookup[K comparable](x *Index, key K) (h uint64, p Place, head *chain.Node) {
	hooks.Index(hooks.Read, key)
	if x == nil {
		panic(ZeroMap)
	}
	if x.tree != nil {
		return x.lookupInTree(unsafe.Pointer(&key))
	}
	if x.Hash.Kind == hasher.Hash64 {
		h = x.Hash.Mix(*(*uint64)(unsafe.Pointer(&key)))
	} else {
		h = x.Hash.Sum(unsafe.Pointer(&key))
	}
	b := x.table.Load().bucket(h)
	meta := b.meta.Load()
	slow := meta & bucketMoved
	for m := matching(meta, TagOf(h)); m != 0; m &= m - 1 {
		i := uint8(bits.TrailingZeros64(m) / 8)
		switch v := b.cells[i].Load(); {
		case v == nil:
		case v == x.Moved:
			slow = 1
		case *(*K)(v.Key()) == key:
			return h, Place{b, i}, v
		}
	}
	if slow == 0 && b.over.Load() == nil {
		return h, p, nil
	}
	p, head = x.Find(h, unsafe.Pointer(&key))
	return h, p, head
}

// Seek is [Lookup] for the key at key.
func (x *Index) Seek(key unsafe.Pointer) (h uint64, p Place, head *chain.Node) {
	h = x.Hash.Sum(key)
	p, head = x.Find(h, key)
	return h, p, head
}

// Ahead returns the hash of the key at key, and begins to load its bucket. A caller of Ahead and
// then of [Index.Likely], each for several keys, waits twice for all, and not for each key.
func (x *Index) Ahead(key unsafe.Pointer) (h uint64) {
	h = x.Hash.Sum(key)
	if x.tree == nil {
		x.table.Load().bucket(h).meta.Load() // for the cache
	}
	return h
}

// Likely returns a head that is probably that of the key, or nil, and begins to load it. The caller
// compares the keys, and calls [Index.Find] if they differ.
func (x *Index) Likely(h uint64, key unsafe.Pointer) (head *chain.Node) {
	if x.tree != nil {
		return nil
	}
	x.announce(hooks.Read, key)
	b := x.table.Load().bucket(h)
	meta := b.meta.Load()
	m := matching(meta, TagOf(h))
	if m == 0 || meta&bucketMoved != 0 {
		return nil
	}
	if head = b.cells[bits.TrailingZeros64(m)/8].Load(); !x.IsHead(head) {
		return nil
	}
	head.State.Load() // for the cache
	return head
}

// announce announces an access to the index to the scheduler of tests.
func (x *Index) announce(kind hooks.Access, key unsafe.Pointer) {
	if hooks.Enabled {
		hooks.Index(kind, x.Hash.Boxed(key))
	}
}

// Find returns the place of the key at key, whose hash is h, and the head that its cell held, or
// nil if the key has no cell. It never waits.
//
// If the key has no cell, that was so when its bucket's word was loaded, or when a cell that had
// had the key's tag was found empty.
func (x *Index) Find(h uint64, key unsafe.Pointer) (Place, *chain.Node) {
	x.announce(hooks.Read, key)
	if x.tree != nil {
		return x.findInTree(key)
	}
	t := x.table.Load()
	for marked := false; ; {
		first := t.bucket(h)
		meta := first.meta.Load()
		hooks.At(hooks.TagsLoaded)
		if meta&bucketMoved == 0 {
			p, head, mark := x.findIn(first, meta, TagOf(h), key)
			if !mark {
				return p, head
			}
			// The bucket is being moved. If our key was inserted after we loaded the tags and
			// before the move began, it may be in both tables, and its cell in the next table must
			// not be used yet. So look again: while the bucket is locked nothing is inserted or
			// removed, and for every key there we meet the key itself or the mark of its move.
			if !marked {
				marked = true
				continue
			}
		}
		t, marked = x.after(t), false
	}
}

// findIn is Find in the chain that begins at b, whose word is meta. marked says that the
// key was not found, and that it may have moved.
func (x *Index) findIn(
	b *Bucket, meta, tag uint64, key unsafe.Pointer,
) (p Place, head *chain.Node, marked bool) {
	for {
		for m := matching(meta, tag); m != 0; m &= m - 1 {
			i := uint8(bits.TrailingZeros64(m) / 8)
			switch v := b.cells[i].Load(); {
			case v == x.Moved:
				marked = true
			case v != nil && x.Hash.Equal(v.Key(), key):
				return Place{b, i}, v, false
			}
		}
		if b = b.after(); b == nil {
			return p, nil, marked
		}
		meta = b.meta.Load()
	}
}

// Again is Find for a caller that has found the key at p, or nowhere, before.
func (x *Index) Again(p Place, h uint64, key unsafe.Pointer) (Place, *chain.Node) {
	if !p.Nowhere() {
		if v := p.Load(); x.IsHead(v) && x.Hash.Equal(v.Key(), key) {
			return p, v
		}
	}
	return x.Find(h, key)
}
