package mvcc

import (
	"iter"
	"runtime"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
	"github.com/mvccmap/mvccmap/internal/engine/tree"
)

// Loops over the keys of a map, as they are for all types: they visit the visible version of each
// key that has a value.

// A looping says which keys a loop visits, and for whom.
type looping struct {
	of     *engine // the map of which the loop opens a snapshot, of kind, or nil
	kind   uint64
	s      moment // the snapshot, or the transaction if tx is set
	tx     bool   // s is a transaction
	ranged bool   // visit the keys of in, in their order; else all, in any
	down   bool
	in     span
}

// run visits the visible versions.
//
//go:noinline
func (l looping) run(c *chunk, visit func() bool) {
	if l.of != nil {
		l.s = coreAt(l.of).snapshotFor(l.kind)
		defer l.s.Close()
	}
	switch {
	case l.tx && l.ranged:
		in := l.in // which the transaction keeps
		DBTx(l.s).ranged(c, &in, l.down, visit)
	case l.tx:
		DBTx(l.s).scanAll(c, visit)
	default:
		l.s.ranged(c, &l.in, l.down, visit)
	}
}

// count returns how many keys run visits.
func (l looping) count(prefix bool) (n int) {
	m := coreAt(l.of)
	if m == nil {
		m = partOf(l.s.st).m
	}
	m.checkOrdered(prefix)
	l.kind = forCall
	var c chunk
	l.run(&c, func() bool {
		n += c.n
		return true
	})
	return n
}

// records returns an iterator over the keys and values of the versions that a loop visits.
//
//go:noinline
func records[K comparable, V any](l looping) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		var c chunk
		l.run(&c, func() bool { return give(&c, yield) })
	}
}

// A chunk has the versions with values that a loop visits next: as many as are found at once. So
// the processor waits for their memory once, and a step of the loop calls only the function of the
// program. The caller that begins a loop has the chunk, and the loop fills it before each call of
// visit. So chunk and loop are both on the stack: the compiler assumes that an argument of an
// unknown function is kept, and that a whole structure is kept if a part of it is.
type chunk struct {
	moment // which is checked after each step
	n      int
	found  [leafful]*chain.Node
	// A visit that ends an upward loop over a range may set jump to a later part of the range,
	// where the loop is to go on. A transaction keeps the span of jump.
	jump *span
}

// check is a copy of [moment.check] that is inlined.
func (c *chunk) check() {
	if c.st.head.Gen() != c.gen {
		c.refuse()
	}
}

// give calls yield with the keys and values of the versions of c.
//
//go:noinline
func give[K comparable, V any](c *chunk, yield func(K, V) bool) (goOn bool) {
	for _, v := range c.found[:c.n] {
		if !yield(chain.KeyOf[K](v), chain.ValueOf[K, V](v)) {
			return false
		}
		c.check()
	}
	return true
}

// recordIn returns the key and value of v, if that is not nil.
func recordIn[K comparable, V any](v *chain.Node) (key K, value V, ok bool) {
	if v == nil {
		return key, value, false
	}
	return chain.KeyOf[K](v), chain.ValueOf[K, V](v), true
}

// ranged visits the visible versions of all keys, or, in their order, of those of r.
//
// Every key that is visible here was inserted before, and stays until the snapshot has closed: so
// the loop meets it. A key that the loop meets twice was deleted and inserted again meanwhile: its
// second entry has nothing visible.
//
//go:noinline
func (s moment) ranged(c *chunk, r *span, down bool, visit func() bool) {
	l, goOn := loopOver(s, c, leafful), true
	if l.p.index.Ordered() {
		for again := true; again; {
			for at := index.CursorIn(l.p.index, r, down); goOn && at.Next(); {
				l.fill(c, &at)
				goOn = c.give(visit)
			}
			if again = c.jump != nil; again {
				r, c.jump, goOn = c.jump, nil, true
			}
		}
	} else {
		l.p.index.Scan(func(_ index.Place, head *chain.Node) bool {
			if l.add(c, head); c.n == l.most {
				goOn = c.give(visit)
			}
			return goOn
		})
		if goOn && c.n > 0 {
			goOn = c.give(visit)
		}
	}
	if goOn {
		s.check()
	}
	runtime.KeepAlive(s.st)
}

// loopOver begins a loop over the keys of a snapshot. It is no method of moment, see txn.
func loopOver(s moment, c *chunk, most int) snapshotLoop {
	s.check()
	p := partOf(s.st)
	l := snapshotLoop{p: p, at: p.st.epoch(), most: most}
	s.check()
	c.moment, c.n = s, 0
	return l
}

// A snapshotLoop is a loop over the keys of a snapshot.
type snapshotLoop struct {
	p    *part
	at   epoch.Epoch
	most int // how many versions to give at once: 1 if the loop ends with the first, or leafful
}

// leafful is how many keys a leaf has at most.
const leafful = tree.Cap

// fill adds the visible versions of the keys of a leaf.
func (l *snapshotLoop) fill(c *chunk, leaf *tree.Cursor) {
	var met *chain.Node
	n, moved := 0, l.p.index.Moved
	for rest := leaf.Rest(); n < rest && c.n < l.most; n++ {
		v := index.NodeOf(leaf.At(n))
		if v.Plain(l.at) {
			l.p.checkRead(c.gen, v.Key(), v)
			c.found[c.n], met = v, v
			c.n++
			continue
		}
		if v == moved {
			break
		}
		if v != nil {
			l.add(c, v)
			met = v
		}
	}
	leaf.Met(n, index.HeadOf(met))
	for c.n < l.most {
		head, _ := leaf.Head()
		if head == nil {
			return
		}
		l.add(c, index.NodeOf(head))
	}
}

// add adds the visible version of the key whose head is v.
func (l *snapshotLoop) add(c *chunk, v *chain.Node) {
	key := v.Key() // of the newest
	if !v.Plain(l.at) {
		v = l.p.m.Visible(v, l.at)
	}
	l.p.checkRead(c.gen, key, v)
	if v.There() {
		c.found[c.n] = v
		c.n++
	}
}

// give calls visit for the versions that were added.
func (c *chunk) give(visit func() bool) (goOn bool) {
	c.check()
	goOn = visit()
	c.n = 0
	return goOn
}

// len is [Snapshot.Len].
//
//go:noinline
func (s moment) len() (n int) {
	var c chunk
	s.ranged(&c, nil, false, func() bool {
		n += c.n
		return true
	})
	return n
}

// end is [Snapshot.Min], or [Snapshot.Max] if last is set: nil if there are no keys.
//
//go:noinline
func (s moment) end(last bool) (found *chain.Node) {
	s.check()
	partOf(s.st).m.checkOrdered(false)
	return s.endOf(nil, last)
}

// endOf is end for the keys of r.
func (s moment) endOf(r *span, last bool) *chain.Node {
	var c chunk
	l := loopOver(s, &c, 1)
	for at := index.CursorIn(l.p.index, r, last); c.n == 0 && at.Next(); {
		l.fill(&c, &at)
	}
	s.check()
	runtime.KeepAlive(s.st)
	return c.found[0]
}

// checkOrdered panics if the keys have no order, or if prefix is set, for a range by Prefix, and
// the order is not that of Go's operators.
func (m *core) checkOrdered(prefix bool) {
	if m.order == nil {
		panic("mvcc: the keys of the map have no order: make it with mvcc.NewOrdered")
	}
	if prefix && !m.order.natural {
		panic(errPrefix)
	}
}
