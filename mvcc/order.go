package mvcc

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tidwall/btree"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// An order has the keys of an ordered map in their order, and nothing else: what they say
// is found in the index. It is an interface so that the B-tree is not compiled for maps that
// are made without an order. See treeOrder for what is promised.
type order interface {
	// comparing returns the function that compares two keys, a func(a, b K) int, and compare
	// compares those of two versions.
	comparing() any
	compareNodes(a, b *node) int
	// isNatural reports whether the order is that of Go's operators.
	isNatural() bool
	// strictly returns a new order of the same keys, for Options.Strict.
	strictly(s *strict) order
	// pin adds the keys of versions, which have no slot, and keeps them there until they are
	// unpinned. It may wait for a goroutine that has the lock. The keys are sorted. If comparing
	// panics, or is seen to be no order, no key is pinned.
	pin(keys []*node)
	// unpin undoes pin, but that the keys stay, see dropIfGone.
	unpin(keys []*node)
	// pinOne and unpinOne are the same for one key: a list of it would be allocated.
	pinOne(key *node)
	unpinOne(key *node)
	// scan is index.scan for the keys of r, a *Range or nil for all, ascending or descending. It reports whether
	// all were visited.
	scan(x *index, r unsafe.Pointer, down bool, visit func(p place, head *node) bool) (all bool)
	// side returns 0 if the key at key is in r, and else -1 if it is below r, or 1.
	side(r, key unsafe.Pointer) int
	// gone returns the ranges with what a loop over r has gone through by now: up to the key at to, or
	// all if that is nil. at is the number of what it had noted, or -1, and then the new one.
	gone(ranges []unsafe.Pointer, at int, r, to unsafe.Pointer, down bool) ([]unsafe.Pointer, int)
	drops
}

// comparing returns what an order has returned.
func comparing[K any](of any) func(a, b K) int { return of.(func(a, b K) int) }

// drops is what the engine knows of an order.
type drops interface {
	// leave notes that the key at key is leaving, and returns the number of the note, or false
	// if the key is not there, or pinned.
	leave(key unsafe.Pointer) (number uint64, ok bool)
	// left takes the key out, unless it is not to leave, or another goroutine has pinned it or
	// begun to drop it since the note was taken.
	left(key unsafe.Pointer, number uint64, leaves bool)
	// bytes returns about what the order takes.
	bytes() uint64
}

// A treeOrder is the one order there is: a B-tree that is copied as far as it is written
// (copy-on-write), and a short list of the keys that came last: so few copies are made
// of the tree. Readers have a copy that never changes, and take no lock.
//
//   - O1: a key is in the copy that readers get before it has a slot in the index. So it
//     is there before an epoch is drawn for any version of it: a reader as of that epoch,
//     or a later one, meets it, and so does a validator of a range that has drawn its epoch
//     before it takes the copy.
//   - O2: a key leaves the order only when it has no slot and no pin: nobody needs it
//     then. It may stay for a while longer: readers do not find it in the index.
//
// An inserter pins a key first, which adds it, and unpins it when the insert has been
// committed or withdrawn. A goroutine that takes a key out of the index drops it, and one
// that unpins it does too, if it has no slot. To drop a key, note that it is leaving, then
// look whether it has a slot, and take it out if the note is still there: a pin takes the
// note away. So no look into the index is made under the lock, and helpers need not know of
// the order.
type treeOrder[K comparable] struct {
	compare func(a, b K) int
	natural bool     // the order is that of Go's operators
	owner   owner[K] // of its keys, which stay when others take their place in versions

	mu      sync.Mutex // held for a few keys at a time: some microseconds
	tree    *btree.BTreeG[orderKey[K]]
	pins    map[K]int
	most    int          // how many pins there have been at a time
	leaving map[K]uint64 // the number of the last dropper
	drops   uint64
	stale   int // how many keys were taken out since the copy was made

	copied atomic.Pointer[orderedKeys[K]]
}

// An orderKey is a key in the tree, which would call a method Copy of K.
type orderKey[K any] struct{ key K }

// orderedKeys are the keys of an order at a moment. They are never changed.
type orderedKeys[K comparable] struct {
	tree   *btree.BTreeG[orderKey[K]]
	recent []K // sorted
}

// newOrder returns an order by compare, a function of the program. It makes copies of keys, see
// [owner].
func newOrder[K comparable](compare func(a, b K) int) order {
	return newTree(compare, false, newOwner[K]())
}

// naturalOrder returns the order of Go's operators, like newOrder.
func naturalOrder[K cmp.Ordered]() order { return newTree(cmp.Compare[K], true, newOwner[K]()) }

// newTree returns an order for keys that are what owner makes of them; nil if they are already.
func newTree[K comparable](compare func(a, b K) int, natural bool, owner owner[K]) *treeOrder[K] {
	o := &treeOrder[K]{compare: compare, natural: natural, owner: owner,
		pins: map[K]int{}, leaving: map[K]uint64{}}
	less := func(a, b orderKey[K]) bool { return compare(a.key, b.key) < 0 }
	o.tree = btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})
	o.publish(nil)
	return o
}

func (o *treeOrder[K]) comparing() any  { return o.compare }
func (o *treeOrder[K]) isNatural() bool { return o.natural }

func (o *treeOrder[K]) compareNodes(a, b *node) int { return o.compare(keyOf[K](a), keyOf[K](b)) }

func (o *treeOrder[K]) strictly(s *strict) order {
	if o.natural {
		return o
	}
	return newOrder(strictCompare(s, o.compare))
}

// checkDistinct panics if compare says that a and b, keys of the order, are the same, and they are
// not: one of them would be missed.
func checkDistinct[K comparable](a, b K) {
	if a != b {
		panic(fmt.Sprintf("mvcc: the order's compare returns 0 for %v and %v, which are not equal", a, b))
	}
}

// maxStale is up to how many keys that were taken out readers may still meet, and
// maxRecent up to how many keys are listed beside the tree.
const (
	maxStale  = 64
	maxRecent = 64
)

// lock locks the order: for scheduled goroutines, what is done until unlock is one step.
func (o *treeOrder[K]) lock() {
	hooks.Before(hooks.Write, unsafe.Pointer(&o.mu))
	o.mu.Lock()
}

// publish gives readers what the tree is now, and recent. o.mu is held.
func (o *treeOrder[K]) publish(recent []K) {
	o.copied.Store(&orderedKeys[K]{o.tree.Copy(), recent})
	o.stale = 0
}

// keys returns the keys as they are now.
func (o *treeOrder[K]) keys() *orderedKeys[K] {
	hooks.Before(hooks.Read, unsafe.Pointer(&o.mu))
	return o.copied.Load()
}

// pinBatch is how many keys are pinned or unpinned at most while the lock is held.
const pinBatch = 64

func (o *treeOrder[K]) pinOne(key *node)   { o.pin([]*node{key}) }
func (o *treeOrder[K]) unpinOne(key *node) { o.unpin([]*node{key}) }

func (o *treeOrder[K]) pin(keys []*node) {
	o.lock()
	defer o.mu.Unlock() // compare may panic
	was := o.copied.Load()
	var added []K
	for i, v := range keys {
		key := keyOf[K](v)
		if o.compare(key, key) != 0 {
			panic(fmt.Sprintf("mvcc: the order's compare does not return 0 for %v and itself", key))
		}
		if i > 0 && o.compareNodes(keys[i-1], v) == 0 {
			checkDistinct(keyOf[K](keys[i-1]), key)
		}
		if !o.has(key) {
			added = append(added, o.owner.own(key))
		}
	}
	switch recent := was.recent; {
	case len(added) == 0:
	case len(added)+len(recent) <= maxRecent:
		recent = append(slices.Clip(recent), added...)
		sortKeys(recent, o.compare)
		o.copied.Store(&orderedKeys[K]{was.tree, recent})
	default:
		// In a copy: if compare panics nothing has changed.
		tree := o.tree.Copy()
		for _, key := range recent {
			tree.Set(orderKey[K]{key})
		}
		for _, key := range added {
			tree.Set(orderKey[K]{key})
		}
		o.tree = tree
		o.publish(nil)
	}
	for _, v := range keys {
		o.pins[keyOf[K](v)]++
		delete(o.leaving, keyOf[K](v))
	}
	o.most = max(o.most, len(o.pins))
}

func (o *treeOrder[K]) unpin(keys []*node) {
	for batch := range slices.Chunk(keys, pinBatch) {
		o.lock()
		for _, v := range batch {
			key := keyOf[K](v)
			if o.pins[key]--; o.pins[key] == 0 {
				delete(o.pins, key)
			}
		}
		if len(o.pins) == 0 && o.most > pinBatch { // a map never shrinks by itself
			o.pins, o.most = map[K]int{}, 0
		}
		o.mu.Unlock()
	}
}

// has reports whether key is there. o.mu is held.
func (o *treeOrder[K]) has(key K) bool {
	if found, there := o.tree.Get(orderKey[K]{key}); there {
		checkDistinct(found.key, key)
		return true
	}
	recent := o.copied.Load().recent
	i, there := slices.BinarySearchFunc(recent, key, o.compare)
	if there {
		checkDistinct(recent[i], key)
	}
	return there
}

func (o *treeOrder[K]) leave(at unsafe.Pointer) (number uint64, ok bool) {
	key := *(*K)(at)
	o.lock()
	defer o.mu.Unlock()
	if o.pins[key] > 0 || !o.has(key) {
		return 0, false
	}
	o.drops++
	o.leaving[key] = o.drops
	return o.drops, true
}

func (o *treeOrder[K]) left(at unsafe.Pointer, number uint64, leaves bool) {
	key := *(*K)(at)
	o.lock()
	defer o.mu.Unlock()
	if o.leaving[key] != number {
		return
	}
	delete(o.leaving, key)
	if !leaves {
		return
	}
	was := o.copied.Load()
	if i, there := slices.BinarySearchFunc(was.recent, key, o.compare); there {
		o.copied.Store(&orderedKeys[K]{was.tree, slices.Concat(was.recent[:i], was.recent[i+1:])})
		return
	}
	o.tree.Delete(orderKey[K]{key})
	if o.stale++; o.stale >= maxStale || o.tree.Len() == 0 {
		o.publish(was.recent)
	}
}

// dropIfGone takes the key at key out of the order, if there is one, if the index has no slot
// for it.
func (c *chains) dropIfGone(key unsafe.Pointer) {
	if c.drops == nil {
		return
	}
	hooks.At(hooks.OrderChanged)
	if _, _, head := c.index.seek(key); head != nil {
		return
	}
	if number, ok := c.drops.leave(key); ok {
		hooks.At(hooks.OrderChanged)
		_, _, head := c.index.seek(key)
		c.drops.left(key, number, head == nil)
	}
}

// bytes returns about what the order takes. Nodes are half full or more.
func (o *treeOrder[K]) bytes() uint64 {
	var key K
	return uint64(o.copied.Load().tree.Len()) * uint64(unsafe.Sizeof(key)) * 9 / 5
}
