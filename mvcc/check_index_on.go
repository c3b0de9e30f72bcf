//go:build mvcccheck

package mvcc

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/tree"
)

// peekHead returns the head of key, if it has one, without a yield point: see find.
func (x *index) peekHead(key unsafe.Pointer) *node {
	if x.tree != nil {
		return nodeOf(treeOf(x).Peek(key))
	}
	h := x.hash.sum(key)
	t := x.table.Load()
	for marked := false; ; {
		first := t.bucket(h)
		if first.meta.Load()&bucketMoved == 0 {
			v, mark := x.peekIn(first, key)
			if v != nil || !mark {
				return v
			}
			if !marked {
				marked = true
				continue
			}
		}
		t, marked = x.after(t), false
	}
}

func (x *index) peekIn(b *bucket, key unsafe.Pointer) (head *node, marked bool) {
	for ; b != nil; b = b.after() {
		for i := range b.cells {
			switch v := rawLoad(&b.cells[i]); {
			case v == x.moved:
				marked = true
			case v != nil && x.hash.equal(v.key(), key):
				return v, false
			}
		}
	}
	return nil, marked
}

// peekAll calls f for heads in the index, without a yield point: for all, unless the
// table is being resized.
func (x *index) peekAll(f func(h *node)) {
	if x.tree != nil {
		treeOf(x).PeekAll(func(h *tree.Head) { f(nodeOf(h)) })
		return
	}
	for t := x.table.Load(); t != nil; t = t.next.Load() {
		for i := range t.buckets {
			for b := &t.buckets[i]; b != nil; b = b.after() {
				for j := range b.cells {
					if v := rawLoad(&b.cells[j]); x.head(v) {
						f(v)
					}
				}
			}
		}
	}
}
