//go:build mvcccheck

package tree

import "unsafe"

// Peek is [Tree.Find] without a yield point.
func (t *Tree) Peek(key unsafe.Pointer) *Head {
	for what := t.separatorOf(key); ; {
		p, c := t.parent(what, false)
		l := p.leafAt(c)
		for l != nil && l.load().isDead() {
			l = t.after(l, what, false)
		}
		if l == nil {
			continue
		}
		if r := t.rankOf(l, l.load(), what); r.ok {
			if r.h != nil && !t.Equal(t.key(r.h), unkept(key)) {
				return nil // the order is none
			}
			return r.h
		}
	}
}

// PeekAll calls f for the heads in the tree, without a yield point: for all, unless leaves are
// replaced meanwhile.
func (t *Tree) PeekAll(f func(h *Head)) {
	var each func(p *inner)
	each = func(p *inner) {
		for i := range int(p.n) {
			if p.level > 0 {
				each((*inner)(p.kidAt(i)))
				continue
			}
			l := p.leafAt(i)
			for j := range l.load().usedCount() {
				if _, h, ok := t.resolve(l, j); ok && h != nil {
					f(h)
				}
			}
			if r := l.repl.Load(); r != nil { // later notes
				r.peekHeads(f, t.Moved)
			}
		}
	}
	each(t.root.Load())
}

func (r *replacement) peekHeads(f func(h *Head), mark *Head) {
	for _, l := range []*Leaf{r.left, r.right} {
		for j := 0; l != nil && j < l.load().usedCount(); j++ {
			if h := l.rawLoad(j); h != nil && h != mark {
				f(h)
			}
		}
		if l != nil {
			if r := l.repl.Load(); r != nil {
				r.peekHeads(f, mark)
			}
		}
	}
}
