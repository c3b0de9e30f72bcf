package mvcc

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/tree"
)

// The index of a map whose keys have an order is a tree, and there is no table: what the engine
// asks of an index is answered by one or the other. A leaf has its cells where a bucket has them,
// so a place is the same to both.

// inOrder makes x, which is new, the index of keys that are in an order. size is that of a version,
// and own copies a key.
func (x *index) inOrder(by tree.Order, size uint64, own func(key unsafe.Pointer) unsafe.Pointer) {
	x.table.Store(nil)
	x.tree = unsafe.Pointer(tree.New(tree.Config{
		Order: by,
		KeyAt: unsafe.Sizeof(node{}),
		Size:  uintptr(size),
		Equal: x.hash.equal,
		Own:   own,
		Moved: headOf(x.moved),
		Visit: func(l *tree.Leaf) { x.visit((*bucket)(unsafe.Pointer(l))) },
		Name:  x.hash.boxed,
	}))
}

// treeOf returns the tree of an index that is one. It is no method, nor is what else has types of
// the tree: the compiler would find them by the index, and compile some of them for each type of
// map.
func treeOf(x *index) *tree.Tree { return (*tree.Tree)(x.tree) }

var _ [cellsAt]byte = [tree.CellsAt]byte{}

func headOf(v *node) *tree.Head { return (*tree.Head)(unsafe.Pointer(v)) }

func nodeOf(h *tree.Head) *node { return (*node)(unsafe.Pointer(h)) }

// placeOf and inLeaf turn a place of a tree into one of an index, and back.
func placeOf(p tree.Place) place { return place{(*bucket)(unsafe.Pointer(p.Leaf)), p.I} }

func inLeaf(p place) tree.Place { return tree.Place{Leaf: leafAt(p.b), I: p.i} }

func leafAt(b *bucket) *tree.Leaf { return (*tree.Leaf)(unsafe.Pointer(b)) }

// findInTree is find.
func (x *index) findInTree(key unsafe.Pointer) (place, *node) {
	p, h := treeOf(x).Find(key)
	return placeOf(p), nodeOf(h)
}

// lookupInTree is lookup.
func (x *index) lookupInTree(key unsafe.Pointer) (h uint64, p place, head *node) {
	h = x.hash.sum(key)
	p, head = x.findInTree(key)
	return h, p, head
}

// insertInTree is insert.
func (x *index) insertInTree(v *node, g gate) (p place, inserted bool) {
	at, inserted := treeOf(x).Insert(headOf(v), g)
	if inserted {
		x.entries.Inc()
	}
	return placeOf(at), inserted
}

// removeFromTree is remove.
func (x *index) removeFromTree(p place, v *node) bool {
	removed, tidy := treeOf(x).Remove(inLeaf(p), headOf(v))
	if removed {
		x.entries.Dec()
		if tidy {
			x.tidy(v.key())
		}
		hooks.At(hooks.Gone)
	}
	return removed
}

// tidy gives the leaf of a key that is gone back, or a part of it. A function of the program may
// panic that compares keys: then the leaf stays as it is.
func (x *index) tidy(key unsafe.Pointer) {
	defer func() { _ = recover() }()
	treeOf(x).Tidy(key)
}

// listInTree is list.
func (x *index) listInTree(p place, key unsafe.Pointer) *bucket {
	for !p.nowhere() {
		list, gone := leafAt(p.b).Ask(p.i)
		switch {
		case gone:
			p, _ = x.findInTree(key)
		case list:
			return p.b
		default:
			return nil
		}
	}
	return nil
}

// cursorIn returns what goes over the keys of s, or all if it is nil.
func cursorIn(x *index, s *tree.Span, down bool) tree.Cursor {
	if s == nil {
		return treeOf(x).Scan(tree.Span{}, down)
	}
	return treeOf(x).Scan(*s, down)
}

// span visits the keys of s, or all if it is nil, ascending or descending: see scan.
func (x *index) span(s *tree.Span, down bool, visit func(p place, head *node) bool) (all bool) {
	c := cursorIn(x, s, down)
	for c.Next() {
		for h, at := c.Head(); h != nil; h, at = c.Head() {
			if !visit(placeOf(at), nodeOf(h)) {
				return false
			}
		}
	}
	return true
}
