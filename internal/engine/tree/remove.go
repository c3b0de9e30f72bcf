package tree

import (
	"runtime"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
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
			at = Place{} // the key may have come again, in another cell
		}
	}
	hooks.At(hooks.RemoveEmptied)
	l := at.Leaf
	empty, used := int(l.marks.Add(goneUnit)/goneUnit), l.load().usedCount()
	return true, empty == used || 2*empty >= used && empty%4 == 0
}

// Tidy replaces the leaf of the key at key by one without its empty cells, or the leaf and a
// neighbour by one, if few entries are left. It waits for goroutines that have these leaves locked.
// It may call compare, with nothing locked.
func (t *Tree) Tidy(key unsafe.Pointer) {
	var w path
	f := filling{tree: t, sep: separator{inf: true}}
	f.made.allocate()
	for again := true; again; {
		t.descend(t.separatorOf(key), &w)
		again = t.replaceFew(&w, &f)
	}
	f.handOver()
}

// replaceFew replaces leaves as Tidy says. again is true if the path is stale, or the leaves have
// been locked or replaced: then the caller tries again.
func (t *Tree) replaceFew(w *path, f *filling) (again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.stale() {
		return true
	}
	p, i := w.lastStep().p, w.lastStep().i
	for j := max(0, i-1); j <= min(i+1, int(p.n)-1); j++ {
		w.steps[w.n-1].i = j
		if t.fixParent(w); w.stale() {
			return true
		}
	}
	w.steps[w.n-1].i = i
	for _, from := range [2]int{i, i - 1} {
		if from < 0 || from+1 >= int(p.n) {
			continue
		}
		a, b := p.leafAt(from), p.leafAt(from+1)
		if a.liveCells()+b.liveCells() <= fullEnough-2 {
			return !t.merge(w, f, from, a, b)
		}
	}
	l := p.leafAt(i)
	was, ok := l.lockAny()
	if !ok {
		return true
	}
	f.gather(l, was, -1, nil)
	f.split(p.separatorAt(i-1), p.separatorAt(i))
	f.moveEntries()
	unpinLocker()
	t.leaves.Add(int64(f.leaves()))
	t.fixParent(w)
	return false
}

// merge replaces leaves a and b, the kids from and from+1 of the last node of the path, by one.
func (t *Tree) merge(w *path, f *filling, from int, a, b *Leaf) bool {
	p := w.lastStep().p
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
	if a.liveCells()+b.liveCells() > fullEnough { // keys were inserted before we had the locks
		b.unlock(wasB)
		a.unlock(wasA)
		return false
	}
	f.gather(a, wasA, -1, nil)
	f.gather(b, wasB, -1, nil)
	f.split(p.separatorAt(from-1), p.separatorAt(from+1))
	f.moveEntries()
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
		if w.isDead() {
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
		kids, seps := p.kidsAndSeps()
		kids[from] = kid
		kids = append(kids[:from+1], kids[from+2:]...)
		seps = append(seps[:from], seps[from+1:]...)
		q := t.build(p.level, kids, seps, p.low, p.high)
		t.retire(p)
		if d == 0 {
			for q.n == 1 && q.level > 0 {
				t.retire(q)
				q = (*inner)(q.kidAt(0))
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
			if a, b = q, (*inner)(up.kidAt(from+1)); from != i {
				a, b = (*inner)(up.kidAt(from)), q
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
		k1, s1 := a.kidsAndSeps()
		k2, s2 := b.kidsAndSeps()
		s1 = append(append(s1, up.separatorAt(from)), s2...)
		kid = unsafe.Pointer(t.build(a.level, append(k1, k2...), s1, a.low, b.high))
		t.retire(a)
		t.retire(b)
		p = up
	}
}
