package tree

import (
	"runtime"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// Remove takes the key of h out of the tree, if h still is its head, and reports whether it did. at
// is a place of the key, or nowhere. It never waits; it may call compare before it has removed
// anything. tidy says that Tidy is to be called.
func (t *Tree) Remove(at Place, h *Head) (removed, tidy bool) {
	for was := h; ; {
		if at.Leaf == nil {
			at, was = t.Find(t.key(h))
		}
		if was != h {
			return false, false
		}
		if at.Cell().CompareAndSwap(h, nil) {
			break // linearization point
		}
		var ok bool
		if at, was, ok = t.resolve(at.Leaf, int(at.I)); !ok || was == nil {
			at = Place{} // it may have come again, and then has another one
		}
	}
	hooks.At(hooks.RemoveEmptied)
	l := at.Leaf
	empty, used := int(l.marks.Add(goneUnit)/goneUnit), l.load().used()
	return true, empty == used || 2*empty >= used && empty%4 == 0
}

// Tidy replaces the leaf of the key at key by one without its empty cells, or it and a neighbour
// by one, if few are left. It waits for goroutines that have them locked. It may call compare,
// with nothing locked.
func (t *Tree) Tidy(key unsafe.Pointer) {
	var w path
	f := filling{tree: t, sep: sep{inf: true}}
	f.made.make()
	for again := true; again; {
		t.descend(t.at(key), &w)
		again = t.replaceFew(&w, &f)
	}
	f.handOver()
}

// replaceFew replaces the leaves as tidy says, unless the path is no more the one, or the
// leaves have been locked or replaced: then it is to be done again.
func (t *Tree) replaceFew(w *path, f *filling) (again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.stale() {
		return true
	}
	p, i := w.last().p, w.last().i
	for j := max(0, i-1); j <= min(i+1, int(p.n)-1); j++ {
		w.steps[w.n-1].i = j
		if t.fix(w); w.stale() {
			return true
		}
	}
	w.steps[w.n-1].i = i
	for _, from := range [2]int{i, i - 1} {
		if from < 0 || from+1 >= int(p.n) {
			continue
		}
		a, b := p.leaf(from), p.leaf(from+1)
		if a.live()+b.live() <= fullEnough-2 {
			return !t.merge(w, f, from, a, b)
		}
	}
	l := p.leaf(i)
	was, ok := l.lockAny()
	if !ok {
		return true
	}
	f.gather(l, was, -1, nil)
	f.split(p.sep(i-1), p.sep(i))
	f.move()
	unpinLocker()
	t.leaves.Add(int64(f.leaves()))
	t.fix(w)
	return false
}

// merge replaces leaves a and b, kids from and the next of the last node of the path, by one.
func (t *Tree) merge(w *path, f *filling, from int, a, b *Leaf) bool {
	p := w.last().p
	wasA, ok := a.lockAny()
	if !ok {
		return false
	}
	wasB := b.load()
	if wasB&(locked|dead) != 0 || !b.lock(wasB) { // it must not wait while it is pinned
		a.unlock(wasA)
		runtime.Gosched()
		return false
	}
	if a.live()+b.live() > fullEnough { // keys were inserted before we had the locks
		b.unlock(wasB)
		a.unlock(wasA)
		return false
	}
	f.gather(a, wasA, -1, nil)
	f.gather(b, wasB, -1, nil)
	f.split(p.sep(from-1), p.sep(from+1))
	f.move()
	unpinLocker()
	unpinLocker()
	t.leaves.Add(int64(f.leaves()))
	t.joined(w, from, f.made.leaves[0])
	hooks.At(hooks.ParentKnows)
	a.repl.Store(nil) // T5: must follow
	b.repl.Store(nil)
	return true
}

// lockAny locks the leaf, and pins the goroutine, unless it is dead.
func (l *Leaf) lockAny() (w word, ok bool) {
	for n := 1; ; n++ {
		w = l.load()
		if w.dead() {
			return 0, false
		}
		if w&locked == 0 && l.lock(w) {
			return w, true
		}
		if n%lockSpins == 0 {
			runtime.Gosched()
		}
	}
}

// joined puts m in the place of kids from and from+1 of the last node of the path.
func (t *Tree) joined(w *path, from int, m *Leaf) {
	d := w.n - 1
	p := w.steps[d].p
	kid := unsafe.Pointer(m)
	for {
		kids, seps := p.list()
		kids[from] = kid
		kids = append(kids[:from+1], kids[from+2:]...)
		seps = append(seps[:from], seps[from+1:]...)
		q := t.build(p.level, kids, seps, p.low, p.high)
		t.retire(p)
		if d == 0 {
			for q.n == 1 && q.level > 0 {
				t.retire(q)
				q = (*inner)(q.kid(0))
			}
			t.root.Store(q)
			return
		}
		d--
		up, i := w.steps[d].p, w.steps[d].i
		if q.n >= fanout/4 || up.n < 2 {
			up.set(i, unsafe.Pointer(q))
			return
		}
		var a, b *inner
		for _, from = range [2]int{i, i - 1} {
			if from < 0 || from+1 >= int(up.n) {
				continue
			}
			if a, b = q, (*inner)(up.kid(from+1)); from != i {
				a, b = (*inner)(up.kid(from)), q
			}
			if int(a.n)+int(b.n) <= fanout*3/4 {
				break
			}
			a = nil
		}
		if a == nil {
			up.set(i, unsafe.Pointer(q))
			return
		}
		k1, s1 := a.list()
		k2, s2 := b.list()
		s1 = append(append(s1, up.sep(from)), s2...)
		kid = unsafe.Pointer(t.build(a.level, append(k1, k2...), s1, a.low, b.high))
		t.retire(a)
		t.retire(b)
		p = up
	}
}
