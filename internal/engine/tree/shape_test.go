package tree

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A shape has the findings of checkShape.
type shape struct {
	leaves, inners int64
	keys           int
	behind         int // leaves that were replaced, and whose parent does not know
	chain          int // the most of them one after the other
}

// checkShape checks all nodes of a tree that nobody works on. Nothing may be asked for.
func checkShape(t testing.TB, tr *Tree) (s shape) {
	c := checker{t, tr, &s}
	root := tr.root.Load()
	c.inner(root, separator{inf: true}, separator{inf: true}, int(root.level))
	require.Equal(t, tr.leaves.Load(), s.leaves, "count of leaves")
	require.Equal(t, tr.inners.Load(), s.inners, "count of inner nodes")
	return s
}

type checker struct {
	t  testing.TB
	tr *Tree
	s  *shape
}

func (c checker) sameKey(a, b separator) bool {
	return a.inf && b.inf || !a.inf && !b.inf && c.tr.compare(a, b) == 0
}

// checkPrefix checks that all keys from low to high have the first skip bits in common.
func (c checker) checkPrefix(skip uint32, low, high separator) {
	require.LessOrEqual(c.t, skip, c.tr.order.commonOf(low, high), "skip")
}

func (c checker) inner(p *inner, low, high separator, level int) {
	t, n := c.t, int(p.n)
	c.s.inners++
	require.False(t, p.stale, "a stale node is in the tree")
	require.Equal(t, level, int(p.level))
	require.Positive(t, n)
	require.LessOrEqual(t, n, fanout)
	check(t, c.sameKey(low, p.low) && c.sameKey(high, p.high), "ends of an inner node")
	if n > 1 && !c.tr.order.exact() {
		c.checkPrefix(p.skip, p.separatorAt(0), p.separatorAt(n-2))
		if !p.check {
			c.checkPrefix(p.skip, low, high)
		}
	}
	for i := range fanout {
		want := uint64(1<<64 - 1)
		if i < n-1 && c.tr.order.exact() {
			want = p.separatorAt(i).s
		} else if i < n-1 {
			want = c.tr.order.slice(p.keys[i], p.skip)
		}
		check(t, want == p.slice(i), "slice of a sep")
		if i%8 == 7 && i/8 < len(p.pivots) {
			require.Equal(t, want, p.pivots[i/8], "pivot")
		}
	}
	for i := range n {
		from, to := p.separatorAt(i-1), p.separatorAt(i)
		check(t, from.inf || to.inf || c.tr.compare(from, to) < 0, "seps in order")
		if level > 0 {
			c.inner((*inner)(p.kidAt(i)), from, to, level-1)
		} else {
			c.checkLeaf(p.leafAt(i), from, to, 0)
		}
	}
}

// checkLeaf checks a leaf that has a range, and is the one after so many others in the place of
// which it has come.
func (c checker) checkLeaf(l *Leaf, low, high separator, after int) {
	t, w := c.t, l.load()
	require.NotNil(t, l)
	if w.isDead() {
		r := l.repl.Load()
		require.NotNil(t, r, "a leaf was replaced, and nobody knows by what")
		c.s.behind++
		c.s.chain = max(c.s.chain, after+1)
		if r.right == nil {
			c.checkLeaf(r.left, low, high, after+1)
			return
		}
		check(t, low.inf || c.tr.compare(low, r.sep) < 0, "sep is in the range")
		check(t, high.inf || c.tr.compare(r.sep, high) < 0, "sep is in the range")
		c.checkLeaf(r.left, low, r.sep, after+1)
		c.checkLeaf(r.right, r.sep, high, after+1)
		return
	}
	c.s.leaves++
	require.Zero(t, w&locked, "a leaf is locked")
	require.Nil(t, l.repl.Load())
	require.Zero(t, l.meta.Load()>>32, "visits are asked for, or the leaf has moved")
	c.checkPrefix(l.skippedBits(), low, high)
	order, empty, seen := orderOf(w), uint64(0), uint32(0)
	var last unsafe.Pointer
	for r := range w.usedCount() {
		i := order[r]
		seen |= 1 << i
		check(t, r == 0 || l.slices[order[r-1]].Load() <= l.slices[i].Load(), "slices in order")
		h := l.rawLoad(i)
		if h == nil {
			empty++
			continue
		}
		check(t, h != c.tr.Moved, "a cell has moved")
		c.s.keys++
		key := c.tr.key(h)
		at := c.tr.separatorOf(key)
		check(t, c.tr.order.slice(key, l.skippedBits()) == l.slices[i].Load(), "slice of a key")
		check(t, low.inf || c.tr.compare(low, at) <= 0, "a key is below its leaf")
		check(t, high.inf || c.tr.compare(at, high) < 0, "a key is above its leaf")
		check(t, last == nil || c.tr.order.Compare(last, key) < 0, "keys in order")
		last = key
	}
	require.Equal(t, uint32(1)<<w.usedCount()-1, seen, "order of a leaf")
	require.Equal(t, empty, l.marks.Load()/goneUnit, "count of empty cells")
}

// orderOf returns the numbers of the entries of a leaf, in the order of their keys.
func orderOf(w word) (order []int) {
	q := 0
	for i := range w.baseCount() + 1 {
		for ; q < w.added() && int(w>>(8*q+3)&31) == i; q++ {
			order = append(order, w.baseCount()+int(w>>(8*q)&7))
		}
		if i < w.baseCount() {
			order = append(order, i)
		}
	}
	return order
}

// checkKeys compares the contents of the tree with the expected ones: want[i] is the head of key i.
func (w *world[K]) checkKeys(t testing.TB, want []*Head) {
	n := 0
	for i, h := range want {
		at, found := w.find(i)
		if found != h {
			require.FailNow(t, "wrong head", "key %d: %v is not %v", i, found, h)
		}
		if h != nil {
			n++
			check(t, h == at.Cell().Load(), "key %d has another place", i)
		}
	}
	for _, down := range []bool{false, true} {
		met, next := 0, -1
		if down {
			next = len(want)
		}
		c := scanner{Cursor: w.tr.Scan(Span{}, down)}
		for h := c.next(); h != nil; h = c.next() {
			i := itemOf[K](h).value
			if want[i] != h || !down && i <= next || down && i >= next {
				require.FailNow(t, "wrong head", "key %d, down %v, after %d", i, down, next)
			}
			next = i
			met++
		}
		require.Equal(t, n, met, "keys that a scan meets, down %v", down)
	}
}

// checkAll checks the tree and its keys when nobody works on it, and makes the visits that are
// asked for.
func (w *world[K]) checkAll(t testing.TB, want []*Head) shape {
	for l := w.takeHanded(); l != nil; l = w.takeHanded() {
		w.visit(l, w.noteVisit)
	}
	n := 0
	for _, h := range want {
		if h != nil {
			n++
		}
	}
	s := checkShape(t, w.tr)
	require.Equal(t, n, s.keys)
	w.checkKeys(t, want)
	return s
}
