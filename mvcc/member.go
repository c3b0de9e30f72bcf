package mvcc

import (
	"context"
	"unsafe"

	"github.com/mvccmap/mvccmap/gc"
)

// A member is how a database knows a map, without its types. It holds the core of the
// map, and so does not keep the map reachable.
type member struct {
	keeper
	// trim lets go of some idle states of the map's own transactions, and reports whether
	// there are more.
	trim func() bool
	// expirer returns the map if records of it expire, and it is reachable.
	expirer func() expirer
	// What waits says by one of these which map it is of, and how it waits.
	old, last waiter
}

type waiter struct {
	*member
	last bool
}

// An expirer is a map with records that expire.
type expirer interface {
	expireDue()
	expireNow(ctx context.Context) error
	expires() bool
	endExpiry()
}

// A keeper is the core of a map, for the background work and for statistics.
type keeper interface {
	visitItems(items []item, view *gc.View, f *found)
	due(w waiting, items []item) []item
	stale(w waiting) bool
	surplus(i item) int
	tend() (more bool)
	sizes() mapSizes
}

// An item is a bucket of a map, that the background work is to visit.
type item struct {
	of *member
	b  unsafe.Pointer // a *bucket
}

// waiting is an old version that is kept for an old read epoch; or, with waiter.last, a
// tombstone that was all that is left of its key, and that a transaction that may write
// reads below.
type waiting struct {
	of *waiter
	v  unsafe.Pointer // a *node
}

// found is what the background work finds out.
type found = gc.Found[item, waiting]

func (c *core) item(b *bucket) item { return item{c.member, unsafe.Pointer(b)} }

func (c *core) waiting(v *node, last bool) waiting {
	of := &c.member.old
	if last {
		of = &c.member.last
	}
	return waiting{of, unsafe.Pointer(v)}
}

// mark is the bit of its version that says that w waits. A tombstone that waits for
// transactions which may write can be written over, and then be kept for a reader as well.
func (w waiting) mark() uint64 {
	if w.of.last {
		return lastBit
	}
	return waitBit
}

// visitItems visits items, which are all of this map.
func (c *core) visitItems(items []item, view *gc.View, f *found) {
	var few [64]*bucket
	for len(items) > 0 {
		n := min(len(items), len(few))
		for i := range n {
			few[i] = (*bucket)(items[i].b)
		}
		c.visit(few[:n], view, f)
		items = items[n:]
	}
}

func (c *core) tend() (more bool) { return c.index != nil && c.index.tend() }

// visitAll visits items of several maps, those of one that follow each other at once.
func visitAll(items []item, view *gc.View, f *found) {
	for len(items) > 0 {
		of, n := items[0].of, 1
		for n < len(items) && items[n].of == of {
			n++
		}
		of.visitItems(items[:n], view, f)
		items = items[n:]
	}
}

func dueAll(waits []waiting, items []item) []item {
	for _, w := range waits {
		items = w.of.due(w, items)
	}
	return items
}
