//go:build mvcccheck

package index

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/tree"
)

// PeekHead returns the head of key, if it has one, without a yield point: see Find.
func (x *Index) PeekHead(key unsafe.Pointer) *chain.Node {
	if x.tree != nil {
		return NodeOf(treeOf(x).Peek(key))
	}
	h := x.Hash.Sum(key)
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

func (x *Index) peekIn(b *Bucket, key unsafe.Pointer) (head *chain.Node, marked bool) {
	for ; b != nil; b = b.after() {
		for i := range b.cells {
			switch v := rawLoad(&b.cells[i]); {
			case v == x.Moved:
				marked = true
			case v != nil && x.Hash.Equal(v.Key(), key):
				return v, false
			}
		}
	}
	return nil, marked
}

// PeekAll calls f for heads in the index, without a yield point: for all, unless the
// table is being resized.
func (x *Index) PeekAll(f func(h *chain.Node)) {
	if x.tree != nil {
		treeOf(x).PeekAll(func(h *tree.Head) { f(NodeOf(h)) })
		return
	}
	for t := x.table.Load(); t != nil; t = t.next.Load() {
		for i := range t.buckets {
			for b := &t.buckets[i]; b != nil; b = b.after() {
				for j := range b.cells {
					if v := rawLoad(&b.cells[j]); x.IsHead(v) {
						f(v)
					}
				}
			}
		}
	}
}
