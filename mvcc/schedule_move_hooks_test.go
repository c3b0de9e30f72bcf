//go:build mvcccheck

package mvcc

import (
	"slices"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// resize moves the keys to a table of so many times as many buckets, and at least two.
func (w *world) resize(times, of int) {
	x := w.maps[0].index
	now := x.table.Load()
	x.resize(now, max(2, len(now.buckets)*times/of))
}

// moves knows the tables of an index whose buckets move: which objects are slots.
type moves struct {
	index  *index
	tables []*hashTable
}

// look notes the tables that there are.
func (m *moves) look() {
	for t := m.index.table.Load(); t != nil; t = t.next.Load() {
		if !slices.Contains(m.tables, t) {
			m.tables = append(m.tables, t)
		}
	}
}

// slot reports whether p is in one of them.
func (m *moves) slot(p unsafe.Pointer) bool {
	for _, t := range m.tables {
		at := uintptr(p) - uintptr(unsafe.Pointer(unsafe.SliceData(t.buckets)))
		if at < uintptr(len(t.buckets))*unsafe.Sizeof(bucket{}) {
			return true
		}
	}
	return false
}

// atMove stops one that moves buckets before its next step: what it does to slots is announced
// nowhere else.
func (s *scheduler) atMove(p hooks.Point) {
	switch p {
	case hooks.CellFilled, hooks.CellsMoved, hooks.BucketMoved, hooks.TableReplaced:
		if s.Owns() {
			s.moves.look()
			s.stop(move, noObject)
		}
	}
}
