package tree

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// fixParent replaces, in the parent at the end of the path, a dead leaf by its successors. On a stale
// path it does nothing: the next insert does it. It compares no keys. t.mu is locked.
func (t *Tree) fixParent(w *path) {
	last := w.lastStep()
	for !w.stale() {
		l := last.p.leafAt(last.i)
		if !l.load().isDead() {
			return
		}
		r := l.repl.Load() // it is forgotten under t.mu alone
		t.apply(w, unsafe.Pointer(r.left), unsafe.Pointer(r.right), r.sep)
		hooks.At(hooks.ParentKnows)
		l.repl.Store(nil) // T5: must follow
	}
}

// stale reports whether a node of the path has been replaced. A node above the last one counts: a
// copy of the last node would have to be noted in it.
func (w *path) stale() bool {
	for _, s := range w.steps[:w.n] {
		if s.p.stale {
			return true
		}
	}
	return false
}

// apply puts left, and right if it is not nil, in the place of the kid at the end of the path.
func (t *Tree) apply(w *path, left, right unsafe.Pointer, s separator) {
	for d := w.n - 1; ; d-- {
		if d < 0 {
			if right != nil {
				level := (*inner)(left).level + 1
				left = unsafe.Pointer(t.build(level, []unsafe.Pointer{left, right}, []separator{s},
					separator{inf: true}, separator{inf: true}))
			}
			t.root.Store((*inner)(left))
			return
		}
		p, i := w.steps[d].p, w.steps[d].i
		if right == nil {
			p.set(i, left)
			return
		}
		t.retire(p)
		if q := t.withKids(p, i, left, right, s); q != nil {
			left, right = unsafe.Pointer(q), nil
			continue
		}
		kids, seps := p.kidsAndSeps()
		kids[i] = left
		kids = append(kids[:i+1], append([]unsafe.Pointer{right}, kids[i+1:]...)...)
		seps = append(seps[:i], append([]separator{s}, seps[i:]...)...)
		if len(kids) <= fanout {
			left, right = unsafe.Pointer(t.build(p.level, kids, seps, p.low, p.high)), nil
			continue
		}
		cut := len(kids) / 2
		if i == int(p.n)-1 {
			cut = len(kids) - 2 // they come in order
		}
		left = unsafe.Pointer(t.build(p.level, kids[:cut], seps[:cut-1], p.low, seps[cut-1]))
		right = unsafe.Pointer(t.build(p.level, kids[cut:], seps[cut:], seps[cut-1], p.high))
		s = seps[cut-1]
	}
}

// retire says that a node is replaced.
func (t *Tree) retire(p *inner) {
	p.stale = true
	t.inners.Add(-1)
}

// withKids returns a copy of p with left and right in the place of kid i, or nil if that does not
// fit, or more has to change.
func (t *Tree) withKids(p *inner, i int, left, right unsafe.Pointer, s separator) *inner {
	n := int(p.n)
	if n == fanout || !t.order.exact() && (i == 0 || i == n-1) {
		return nil
	}
	q := &inner{n: p.n + 1, level: p.level, skip: p.skip, check: p.check, low: p.low, high: p.high}
	x := s.s
	if p.keys != nil {
		q.keys = new([fanout - 1]unsafe.Pointer)
		copy(q.keys[:i], p.keys[:i])
		copy(q.keys[i+1:n], p.keys[i:n-1])
		q.keys[i] = s.key
		x = t.order.slice(s.key, p.skip)
	}
	// Kids change under t.mu alone.
	whole := i >> 3
	copy(q.groups[:whole], p.groups[:whole])
	for j := whole << 3; j < i; j++ {
		q.put(j, p.groups[j>>3].kids[j&7], p.slice(j))
	}
	q.put(i, left, x)
	q.put(i+1, right, p.slice(i))
	for j := i + 1; j < n; j++ {
		q.put(j+1, p.groups[j>>3].kids[j&7], p.slice(j))
	}
	q.fillRest()
	t.inners.Add(1)
	return q
}

// build returns a new inner node.
func (t *Tree) build(
	level uint8, kids []unsafe.Pointer, seps []separator, low, high separator,
) *inner {
	q := &inner{n: uint8(len(kids)), level: level, low: low, high: high}
	for i, kid := range kids {
		q.put(i, kid, 0)
	}
	if len(seps) > 0 && !t.order.exact() {
		q.skip = t.order.commonOf(seps[0], seps[len(seps)-1])
		if q.check = q.skip > t.order.commonOf(low, high); q.check && t.order.kind == kindText {
			q.skip &^= 7 // see beside
		}
		q.keys = new([fanout - 1]unsafe.Pointer)
	}
	for i, s := range seps {
		x := s.s
		if q.keys != nil {
			q.keys[i], x = s.key, t.order.slice(s.key, q.skip)
		}
		q.groups[i>>3].seps[i&7] = x
	}
	q.fillRest()
	t.inners.Add(1)
	return q
}
