package index

import (
	"slices"
	"unsafe"
)

// This file is for the tests of users of an index: they choose its size, and resize it step by
// step.

// Remake gives x, which is empty, a table of so many buckets.
func (x *Index) Remake(buckets int) { x.table.Store(newHashTable(buckets)) }

// Unattended has x, which had at least so many buckets, resized only by inserts and by ResizeTo.
// None of these moves all buckets at once.
func (x *Index) Unattended(buckets int) {
	x.min, x.small = buckets, 0
	x.Spawn, x.Wake = func(func()) bool { return false }, func() {}
}

// Size returns the number of buckets of the present table.
func (x *Index) Size() int { return len(x.table.Load().buckets) }

// Fits reports whether the index has no resize before it, and is of a size for its keys.
func (x *Index) Fits() bool {
	t := x.table.Load()
	return !t.resizing.Load() && x.wanted(t) == 0
}

// ResizeTo begins to move to a table of so many buckets, unless the table is being resized.
func (x *Index) ResizeTo(buckets int) { x.resize(x.table.Load(), buckets) }

// MoveFirst moves the first bucket of the present table.
func (x *Index) MoveFirst() { x.moveBucket(x.table.Load(), 0, true) }

// A Tables knows the tables of an index whose buckets move.
type Tables struct {
	of   *Index
	seen []*hashTable
}

// TablesOf returns a Tables that has seen none yet.
func TablesOf(x *Index) *Tables { return &Tables{of: x} }

// Look notes the tables that there are.
func (s *Tables) Look() {
	for t := s.of.table.Load(); t != nil; t = t.next.Load() {
		if !slices.Contains(s.seen, t) {
			s.seen = append(s.seen, t)
		}
	}
}

// Has reports whether p points into one of the tables noted.
func (s *Tables) Has(p unsafe.Pointer) bool {
	for _, t := range s.seen {
		at := uintptr(p) - uintptr(unsafe.Pointer(unsafe.SliceData(t.buckets)))
		if at < uintptr(len(t.buckets))*unsafe.Sizeof(Bucket{}) {
			return true
		}
	}
	return false
}
