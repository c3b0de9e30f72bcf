package index

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/tree"
)

// The index of a map whose keys have an order is a tree, and there is no hash table. Each method of
// Index asks the tree or the table. A leaf has its cells at the same offset as a bucket has its
// cells, so a place is the same to both.

// InOrder makes x, which is new, the index of keys that are in an order. size is the size of a
// version, and own copies a key.
func (x *Index) InOrder(by tree.Order, size uint64, own func(key unsafe.Pointer) unsafe.Pointer) {
	x.table.Store(nil)
	x.tree = unsafe.Pointer(tree.New(tree.Config{
		Order: by,
		KeyAt: unsafe.Sizeof(chain.Node{}),
		Size:  uintptr(size),
		Equal: x.Hash.Equal,
		Own:   own,
		Moved: HeadOf(x.Moved),
		Visit: func(l *tree.Leaf) { x.Visit((*Bucket)(unsafe.Pointer(l))) },
		Name:  x.Hash.Boxed,
	}))
}

// treeOf returns the tree of an ordered index. Code with types of package tree is not in methods of
// Index: the compiler would find these methods by the index, and compile some of them for each type
// of map.
func treeOf(x *Index) *tree.Tree { return (*tree.Tree)(x.tree) }

var _ [cellsAt]byte = [tree.CellsAt]byte{}

// HeadOf returns the node as a tree sees it.
func HeadOf(v *chain.Node) *tree.Head { return (*tree.Head)(unsafe.Pointer(v)) }

// NodeOf returns the node that a tree sees as h.
func NodeOf(h *tree.Head) *chain.Node { return (*chain.Node)(unsafe.Pointer(h)) }

// placeOf and inLeaf turn a place of a tree into one of an index, and back.
func placeOf(p tree.Place) Place { return Place{(*Bucket)(unsafe.Pointer(p.Leaf)), p.I} }

func inLeaf(p Place) tree.Place { return tree.Place{Leaf: leafAt(p.Bucket), I: p.I} }

func leafAt(b *Bucket) *tree.Leaf { return (*tree.Leaf)(unsafe.Pointer(b)) }

// findInTree is Find.
func (x *Index) findInTree(key unsafe.Pointer) (Place, *chain.Node) {
	p, h := treeOf(x).Find(key)
	return placeOf(p), NodeOf(h)
}

// lookupInTree is [Lookup].
func (x *Index) lookupInTree(key unsafe.Pointer) (h uint64, p Place, head *chain.Node) {
	h = x.Hash.Sum(key)
	p, head = x.findInTree(key)
	return h, p, head
}

// insertInTree is Insert.
func (x *Index) insertInTree(v *chain.Node, g Gate) (p Place, inserted bool) {
	at, inserted := treeOf(x).Insert(HeadOf(v), g)
	if inserted {
		x.entries.Inc()
	}
	return placeOf(at), inserted
}

// removeFromTree is Remove.
func (x *Index) removeFromTree(p Place, v *chain.Node) bool {
	removed, tidy := treeOf(x).Remove(inLeaf(p), HeadOf(v))
	if removed {
		x.entries.Dec()
		if tidy {
			x.tidyLeaf(v.Key())
		}
		hooks.At(hooks.Gone)
	}
	return removed
}

// tidyLeaf gives back memory of the leaf from which key was removed. If the program's function that
// compares keys panics, the leaf stays as it is.
func (x *Index) tidyLeaf(key unsafe.Pointer) {
	defer func() { _ = recover() }()
	treeOf(x).Tidy(key)
}

// listInTree is List.
func (x *Index) listInTree(p Place, key unsafe.Pointer) *Bucket {
	for !p.Nowhere() {
		list, gone := leafAt(p.Bucket).Ask(p.I)
		switch {
		case gone:
			p, _ = x.findInTree(key)
		case list:
			return p.Bucket
		default:
			return nil
		}
	}
	return nil
}

// CursorIn returns a cursor over the keys of s, or over all keys if s is nil.
func CursorIn(x *Index, s *tree.Span, down bool) tree.Cursor {
	if s == nil {
		return treeOf(x).Scan(tree.Span{}, down)
	}
	return treeOf(x).Scan(*s, down)
}

// Span visits the keys of s, or all keys if s is nil, ascending or descending: see Scan.
func (x *Index) Span(
	s *tree.Span, down bool, visit func(p Place, head *chain.Node) bool,
) (all bool) {
	c := CursorIn(x, s, down)
	for c.Next() {
		for h, at := c.Head(); h != nil; h, at = c.Head() {
			if !visit(placeOf(at), NodeOf(h)) {
				return false
			}
		}
	}
	return true
}
