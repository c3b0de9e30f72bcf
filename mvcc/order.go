package mvcc

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tidwall/btree"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// An order has the keys of an ordered map in their order, and nothing else: what they say
// is found in the index. The order is a B-tree that is copied as far as it is written
// (copy-on-write): readers have a copy that never changes, and take no lock.
//
//   - O1: before an epoch is drawn for a version of a key, the key is in the copy that
//     readers get. So a reader as of that epoch, or a later one, meets it, and so does who
//     validates a range and has drawn his epoch before he takes the copy.
//   - O2: a key leaves the order only when the index has no slot for it, which nobody needs
//     then. It may stay for a while longer: readers do not find it in the index.
//
// Who drops a key and who adds it are kept apart without a look into the index under the
// lock. To drop, one notes that the key is leaving, then looks whether it has a slot, and
// takes it out if the note is still there. To add, which comes after the key has got
// its slot, takes the note away. So either the adder comes later, or the dropper finds the
// slot, or he finds that his note is gone.
type order[K comparable] struct {
	compare func(a, b K) int

	mu      sync.Mutex // held for a change of the tree: about a microsecond
	tree    *btree.BTreeG[K]
	leaving map[K]uint64 // the number of the last dropper
	drops   uint64
	stale   int // how many keys were taken out since the copy was made

	copied atomic.Pointer[btree.BTreeG[K]]
}

func newOrder[K comparable](compare func(a, b K) int) *order[K] {
	o := &order[K]{compare: compare, leaving: map[K]uint64{}}
	less := func(a, b K) bool { return compare(a, b) < 0 }
	o.tree = btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})
	o.copied.Store(o.tree.Copy())
	return o
}

// maxStale is up to how many keys that were taken out readers may still meet.
const maxStale = 64

// lock locks the order: for those who are scheduled, what is done until unlock is one step.
func (o *order[K]) lock() {
	hooks.Before(hooks.Write, unsafe.Pointer(&o.mu))
	o.mu.Lock()
}

// publish gives readers what the tree is now. o.mu is held.
func (o *order[K]) publish() {
	o.copied.Store(o.tree.Copy())
	o.stale = 0
}

// keys returns the keys as they are now. The copy is never changed.
func (o *order[K]) keys() *btree.BTreeG[K] {
	hooks.Before(hooks.Read, unsafe.Pointer(&o.mu))
	return o.copied.Load()
}

// add adds keys that have got a slot. It may wait for a goroutine that adds or drops.
func (o *order[K]) add(keys ...K) {
	o.lock()
	added := false
	for _, key := range keys {
		if _, there := o.tree.Get(key); !there {
			o.tree.Set(key)
			added = true
		} else if len(o.leaving) > 0 {
			delete(o.leaving, key)
		}
	}
	if added {
		o.publish()
	}
	o.mu.Unlock()
}

// leave notes that key is leaving, and returns the number of the note, or false if the key
// is not there.
func (o *order[K]) leave(key K) (number uint64, ok bool) {
	o.lock()
	defer o.mu.Unlock()
	if _, ok = o.tree.Get(key); !ok {
		return 0, false
	}
	o.drops++
	o.leaving[key] = o.drops
	return o.drops, true
}

// left takes key out, unless it is not to leave, or somebody has added it or another one
// drops it since the note was taken.
func (o *order[K]) left(key K, number uint64, leaves bool) {
	o.lock()
	defer o.mu.Unlock()
	if o.leaving[key] != number {
		return
	}
	delete(o.leaving, key)
	if !leaves {
		return
	}
	o.tree.Delete(key)
	if o.stale++; o.stale >= maxStale || o.tree.Len() == 0 {
		o.publish()
	}
}

// enroll adds the key of v, which has been installed and not committed, if v may have
// made it. It precedes the draw of v's epoch.
func (c *core[K, V]) enroll(v *version[K, V]) {
	if c.order != nil && v.next.Load() == nil {
		c.order.add(v.key)
		c.dropIfGone(v.key) // a helper may be late
	}
}

// dropIfGone takes key out of the order if the index has no slot for it.
func (c *core[K, V]) dropIfGone(key K) {
	if c.order == nil {
		return
	}
	hooks.At(hooks.OrderChanged)
	if _, _, head := c.index.lookup(key); head != nil {
		return
	}
	if number, ok := c.order.leave(key); ok {
		hooks.At(hooks.OrderChanged)
		_, _, head := c.index.lookup(key)
		c.order.left(key, number, head == nil)
	}
}

// enroll is that for all keys that the transaction has written to the map.
func (st *txState[K, V]) enroll() {
	if st.m.order == nil {
		return
	}
	var made []K
	for i := range st.writes {
		if v := st.writes[i].v; v.next.Load() == nil {
			made = append(made, v.key)
		}
	}
	if len(made) > 0 {
		st.m.order.add(made...)
		for _, key := range made {
			st.m.dropIfGone(key)
		}
	}
}

// rangeBatch is up to how many keys of a range are looked up together: see scanBatch.
const rangeBatch = 64

// walk calls visit with the keys of r that are in the order, some at a time, ascending or
// descending, until it returns false. What is visited first is little: most who read a
// page stop soon.
func (o *order[K]) walk(r *Range[K], down bool, visit func(keys []K) bool) {
	var room [rangeBatch]K
	batch, size, left := room[:0], 4, false
	each := func(key K) bool {
		if r.below(o.compare, key) {
			return !down // the pivot itself
		}
		if r.above(o.compare, key) {
			return down
		}
		if batch = append(batch, key); len(batch) < size {
			return true
		}
		left = !visit(batch)
		batch, size = room[:0], min(2*size, rangeBatch)
		return !left
	}
	tree := o.keys()
	switch {
	case !down && r.low.kind == open:
		tree.Scan(each)
	case !down:
		tree.Ascend(r.low.key, each)
	case r.high.kind == open:
		tree.Reverse(each)
	default:
		tree.Descend(r.high.key, each)
	}
	if !left && len(batch) > 0 {
		visit(batch)
	}
}

// scanRange is index.scan for the keys of r, ascending or descending. It reports whether all
// were visited.
func (c *core[K, V]) scanRange(r *Range[K], down bool, visit func(p place[K, V], head *version[K, V]) bool) (all bool) {
	all = true
	c.order.walk(r, down, func(keys []K) bool {
		var hashes [rangeBatch]uint64
		t := c.index.table.Load()
		for i, key := range keys {
			hashes[i] = c.index.hash.sum(key)
			t.bucket(hashes[i]).meta.Load() // for the cache, see index.scan
		}
		for i, key := range keys {
			if p, head := c.index.find(hashes[i], key); head != nil && !visit(p, head) {
				all = false
				return false
			}
		}
		return true
	})
	return all
}

// bytes returns about what the order takes. Nodes are two thirds full.
func (o *order[K]) bytes() uint64 {
	var key K
	return uint64(o.copied.Load().Len()) * uint64(unsafe.Sizeof(key)) * 3 / 2
}
