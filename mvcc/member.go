package mvcc

import (
	"unsafe"
	"weak"

	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// A chains is the part of a map that the background work and statistics need. The core of a map has
// one chains. The map's member has a copy of it, which does not keep the map reachable.
type chains struct {
	chain.Resolver
	index      *index.Index
	counters   *counters
	member     *member
	perVersion uint64 // the bytes of a version
}

// A member is how a database knows a map, without keeping it reachable.
type member struct {
	*chains
	of weak.Pointer[core]
	// The item of a waiting version points to old or to last. So the item tells the map of the
	// version, and for whom the version waits.
	old, last waiter
}

// trim lets go of some idle states of the map's own transactions, and reports whether
// there are more.
func (m *member) trim() bool {
	c := m.of.Value()
	return c != nil && c.pool.Load().Trim(func(st *txState) { c.Slots.Release(st.slot) })
}

type waiter struct {
	*member
	last bool
}

// found is the result of visits by the background work.
type found = gc.Found

// item returns the item of a bucket that the background work is to visit.
func (c *chains) item(b *index.Bucket) gc.Item {
	return gc.Item{Of: unsafe.Pointer(c.member), Thing: unsafe.Pointer(b)}
}

// waiting returns the item of a version that waits. Without last, an old version is kept for an old
// read epoch. With last, a tombstone is the last version of its key, and is kept while a
// transaction that may write reads at an epoch below. The item's Of is a waiter.
func (c *chains) waiting(v *chain.Node, last bool) gc.Item {
	of := &c.member.old
	if last {
		of = &c.member.last
	}
	return gc.Item{Of: unsafe.Pointer(of), Thing: unsafe.Pointer(v)}
}

// mark returns the bit which says that a version waits for w. There are two bits: a tombstone that
// waits for transactions that may write can be overwritten, and then wait for a reader as well.
func (w *waiter) mark() uint64 {
	if w.last {
		return chain.LastBit
	}
	return chain.WaitBit
}

func (c *chains) tend() (more bool) { return c.index != nil && c.index.Tend() }

// visitBatch is how many buckets are visited together at most, see visit.
const visitBatch = 64

// visitAll visits items of several maps, neighbouring items of one map together.
func visitAll(items []gc.Item, view *gc.View, f *found) {
	for len(items) > 0 {
		of, n := items[0].Of, 1
		for n < min(len(items), visitBatch) && items[n].Of == of {
			n++
		}
		(*member)(of).visit(items[:n], view, f)
		items = items[n:]
	}
}

func dueAll(waits, items []gc.Item) []gc.Item {
	for _, w := range waits {
		items = (*waiter)(w.Of).due((*chain.Node)(w.Thing), items)
	}
	return items
}

// mapSizes are the figures of a map.
type mapSizes struct {
	keys, entries     int
	index, perVersion uint64 // bytes of the index, and of a version
	conflicts         [ConflictWrite + 1]uint64
}

func (c *chains) sizes() (s mapSizes) {
	s.perVersion = c.perVersion
	s.keys = int(max(c.counters.keys.Value(), 0))
	for kind := range s.conflicts {
		s.conflicts[kind] = c.counters.conflicts[kind].Load()
	}
	if c.index != nil {
		s.entries, s.index = c.index.Len(), c.index.Bytes()
	}
	return s
}

// slotBytes is the memory of a slot, the state that owns it, and the notes by which the runtime
// notices that the state has become unreachable.
const slotBytes = 240

// allocated returns about how many bytes the allocator takes for an object of size n: the size
// classes of Go are 8, 16, 24, 32, then 16 apart up to 128, and above that about an eighth apart.
func allocated(n uintptr) uint64 {
	step := uintptr(8)
	switch {
	case n > 128:
		for step = 16; step*8 < n; step *= 2 {
		}
	case n > 32:
		step = 16
	}
	return uint64((n + step - 1) / step * step)
}
