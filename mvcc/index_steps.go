package mvcc

import (
	"slices"
	"unsafe"
)

// This file is for the tests of what uses an index: they choose its size, and resize it step by step.

// remake gives x, which is empty, a table of so many buckets.
func (x *index) remake(buckets int) { x.table.Store(newHashTable(buckets)) }

// unattended has x, which had so many buckets at least, resized by inserts and by resizeTo alone,
// and none of them moves all buckets at once.
func (x *index) unattended(buckets int) {
	x.min, x.small = buckets, 0
	x.spawn, x.wake = func(func()) bool { return false }, func() {}
}

// size returns the number of buckets of the present table.
func (x *index) size() int { return len(x.table.Load().buckets) }

// fits reports whether the index has no resize before it, and is of a size for its keys.
func (x *index) fits() bool {
	t := x.table.Load()
	return !t.resizing.Load() && x.wanted(t) == 0
}

// resizeTo begins to move to a table of so many buckets, unless the table is being resized.
func (x *index) resizeTo(buckets int) { x.resize(x.table.Load(), buckets) }

// moveFirst moves the first bucket of the present table.
func (x *index) moveFirst() { x.move(x.table.Load(), 0, true) }

// A tables knows the tables of an index whose buckets move.
type tables struct {
	of   *index
	seen []*hashTable
}

func tablesOf(x *index) *tables { return &tables{of: x} }

// look notes the tables that there are.
func (s *tables) look() {
	for t := s.of.table.Load(); t != nil; t = t.next.Load() {
		if !slices.Contains(s.seen, t) {
			s.seen = append(s.seen, t)
		}
	}
}

// has reports whether p is in one of them.
func (s *tables) has(p unsafe.Pointer) bool {
	for _, t := range s.seen {
		at := uintptr(p) - uintptr(unsafe.Pointer(unsafe.SliceData(t.buckets)))
		if at < uintptr(len(t.buckets))*unsafe.Sizeof(bucket{}) {
			return true
		}
	}
	return false
}
