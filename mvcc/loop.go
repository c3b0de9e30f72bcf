package mvcc

import (
	"iter"
	"runtime"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/tree"
)

// Loops over the keys of a map, as they are for all types: what they visit is the version that is
// seen of each key that has a value.

// records returns an iterator over the keys and values of the versions that a loop visits.
//
//go:noinline
func records[K comparable, V any](loop func(visit func(v *node) bool)) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		loop(func(v *node) bool { return yield(keyOf[K](v), valueOf[K, V](v)) })
	}
}

// recordIn returns the key and value of v, if that is not nil.
func recordIn[K comparable, V any](v *node) (key K, value V, ok bool) {
	if v == nil {
		return key, value, false
	}
	return keyOf[K](v), valueOf[K, V](v), true
}

// all is [Snapshot.All].
//
//go:noinline
func (s moment) all(visit func(v *node) bool) { s.each(nil, false, visit) }

// ranged is all for the keys of r, or all if it is nil, in their order.
//
//go:noinline
func (s moment) ranged(r *span, down bool, visit func(v *node) bool) {
	s.each(r, down, visit)
}

// each visits what is visible of all keys, or, in their order, of those of r.
//
// Every key that is visible here was inserted before, and stays until the snapshot has closed: it
// is met. A key that is met twice was deleted and inserted again meanwhile: its second entry has
// nothing visible.
func (s moment) each(r *span, down bool, visit func(v *node) bool) {
	s.check()
	p := partOf(s.st)
	l := snapshotLoop{moment: s, p: p, at: p.st.epoch(), visit: visit}
	s.check()
	if p.index.tree != nil {
		c := cursorIn(p.index, r, down)
		for !l.left && c.Next() {
			l.all(&c)
		}
	} else {
		p.index.scan(func(_ place, head *node) bool {
			l.one(head)
			return !l.left
		})
	}
	if !l.left {
		s.check()
	}
	runtime.KeepAlive(s.st)
}

// A snapshotLoop is a loop over the keys of a snapshot.
type snapshotLoop struct {
	moment
	p     *part
	at    epoch.Epoch
	visit func(v *node) bool
	left  bool // visit has returned false
}

// all visits the heads of a leaf.
func (l *snapshotLoop) all(c *tree.Cursor) {
	for h, _ := c.Head(); h != nil; h, _ = c.Head() {
		v := nodeOf(h)
		if !v.plain(l.at) {
			if l.one(v); l.left {
				return
			}
			continue
		}
		l.p.checkRead(l.gen, v.key(), v)
		if l.st.head.Gen() != l.gen { // check, which is not inlined
			l.refuse()
		}
		if !l.visit(v) {
			l.left = true
			return
		}
	}
}

// one visits what is visible of the key whose head is v.
func (l *snapshotLoop) one(v *node) {
	key := v.key() // of the newest
	if !v.plain(l.at) {
		v = l.p.m.visible(v, l.at)
	}
	l.p.checkRead(l.gen, key, v)
	if l.st.head.Gen() != l.gen { // check, which is not inlined
		l.refuse()
	}
	l.left = v.there() && !l.visit(v)
}

// len is [Snapshot.Len].
//
//go:noinline
func (s moment) len() (n int) {
	s.all(func(*node) bool {
		n++
		return true
	})
	return n
}

// end is [Snapshot.Min], or [Snapshot.Max] if last is set: nil if there are no keys.
//
//go:noinline
func (s moment) end(last bool) *node {
	s.check()
	partOf(s.st).m.checkOrdered(false)
	return firstOf(func(visit func(v *node) bool) { s.ranged(nil, last, visit) })
}

// firstOf returns the first version that a loop visits, or nil.
func firstOf(loop func(visit func(v *node) bool)) (found *node) {
	loop(func(v *node) bool {
		found = v
		return false
	})
	return found
}

// all is [Map.All].
func (c *core) all(visit func(v *node) bool) {
	s := c.snapshot()
	defer s.Close()
	s.all(visit)
}

// ranged is all for the keys of r, in their order.
func (c *core) ranged(r *span, down bool, visit func(v *node) bool) {
	s := c.snapshot()
	defer s.Close()
	s.ranged(r, down, visit)
}

// end is [Map.Min], or [Map.Max].
func (c *core) end(last bool) *node {
	c.checkOrdered(false)
	s := c.snapshot()
	defer s.Close()
	return s.end(last)
}

// checkOrdered panics if the keys have no order, or if a range, which is a prefix, has no meaning
// in it.
func (c *core) checkOrdered(prefix bool) {
	if c.order == nil {
		panic("mvcc: the keys of the map have no order: make it with mvcc.NewOrdered")
	}
	if prefix && !c.order.natural {
		panic(errPrefix)
	}
}
