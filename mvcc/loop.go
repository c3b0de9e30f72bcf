package mvcc

import (
	"iter"
	"runtime"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/chain"
	"github.com/mvccmap/mvccmap/internal/index"
	"github.com/mvccmap/mvccmap/internal/tree"
)

// Loops over the keys of a map, as they are for all types: what they visit is the version that is
// seen of each key that has a value.

// A looping is what a loop is to go over.
type looping struct {
	of     *engine // a snapshot of a kind, that the loop opens, if that is not nil, or
	kind   uint64
	s      moment // a snapshot, or
	tx     bool   // a transaction
	ranged bool   // the keys of in in their order, and not all in any
	down   bool
	in     span
}

// run visits what is seen.
//
//go:noinline
func (l looping) run(visit func(c *chunk) bool) {
	if l.of != nil {
		l.s = coreAt(l.of).snapshotFor(l.kind)
		defer l.s.Close()
	}
	switch {
	case l.tx && l.ranged:
		in := l.in // which the transaction keeps
		DBTx(l.s).ranged(&in, l.down, visit)
	case l.tx:
		DBTx(l.s).scanAll(visit)
	default:
		l.s.ranged(&l.in, l.down, visit)
	}
}

// count returns how many keys run visits.
func (l looping) count(prefix bool) (n int) {
	c := coreAt(l.of)
	if c == nil {
		c = partOf(l.s.st).m
	}
	c.checkOrdered(prefix)
	l.kind = forCall
	l.run(func(c *chunk) bool {
		n += c.n
		return true
	})
	return n
}

// records returns an iterator over the keys and values of what a loop visits.
//
//go:noinline
func records[K comparable, V any](l looping) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		l.run(func(c *chunk) bool { return give(c, yield) })
	}
}

// A chunk is versions with values that a loop visits next: as many as are found at once, so that
// what the processor has to wait for it waits for once, and a step of the loop calls no function
// but that of the program. The loop fills it again and again: so nobody may keep it.
type chunk struct {
	moment // which is checked after each step
	n      int
	found  [leafful]*chain.Node
	// Who leaves a loop upwards over a range may say where it is to go on: in a part of the rest of
	// the range. A transaction keeps that.
	jump *span
}

// check is [moment.check], so that it is inlined.
func (c *chunk) check() {
	if c.st.head.Gen() != c.gen {
		c.refuse()
	}
}

// of returns c with v alone.
func (c *chunk) of(v *chain.Node) *chunk {
	c.n, c.found[0] = 1, v
	return c
}

// give has the program visit the keys and values of the versions of c.
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

// all is [Snapshot.All].
func (s moment) all(visit func(c *chunk) bool) { s.ranged(nil, false, visit) }

// ranged visits what is visible of all keys, or, in their order, of those of r.
//
// Every key that is visible here was inserted before, and stays until the snapshot has closed: it
// is met. A key that is met twice was deleted and inserted again meanwhile: its second entry has
// nothing visible.
//
//go:noinline
func (s moment) ranged(r *span, down bool, visit func(c *chunk) bool) {
	l, goOn := s.loop(leafful), true
	if l.p.index.Ordered() {
		for again := true; again; {
			for c := index.CursorIn(l.p.index, r, down); goOn && c.Next(); {
				l.fill(&c)
				goOn = l.give(visit)
			}
			if again = l.jump != nil; again {
				r, l.jump, goOn = l.jump, nil, true
			}
		}
	} else {
		l.p.index.Scan(func(_ index.Place, head *chain.Node) bool {
			if l.add(head); l.n == l.most {
				goOn = l.give(visit)
			}
			return goOn
		})
		if goOn && l.n > 0 {
			goOn = l.give(visit)
		}
	}
	if goOn {
		s.check()
	}
	runtime.KeepAlive(s.st)
}

// loop begins a loop over the keys of the snapshot.
func (s moment) loop(most int) snapshotLoop {
	s.check()
	p := partOf(s.st)
	l := snapshotLoop{chunk: chunk{moment: s}, p: p, at: p.st.epoch(), most: most}
	s.check()
	return l
}

// A snapshotLoop is a loop over the keys of a snapshot.
type snapshotLoop struct {
	chunk
	p    *part
	at   epoch.Epoch
	most int // how many versions to give at once: 1, for a loop that ends with it, or leafful
}

// leafful is how many keys a leaf has at most.
const leafful = tree.Cap

// fill adds what is visible of the keys of a leaf.
func (l *snapshotLoop) fill(c *tree.Cursor) {
	var met *chain.Node
	n, moved := 0, l.p.index.Moved
	for rest := c.Rest(); n < rest && l.n < l.most; n++ {
		v := index.NodeOf(c.At(n))
		if v.Plain(l.at) {
			l.p.checkRead(l.gen, v.Key(), v)
			l.found[l.n], met = v, v
			l.n++
			continue
		}
		if v == moved {
			break
		}
		if v != nil {
			l.add(v)
			met = v
		}
	}
	c.Met(n, index.HeadOf(met))
	for l.n < l.most {
		head, _ := c.Head()
		if head == nil {
			return
		}
		l.add(index.NodeOf(head))
	}
}

// add adds what is visible of the key whose head is v.
func (l *snapshotLoop) add(v *chain.Node) {
	key := v.Key() // of the newest
	if !v.Plain(l.at) {
		v = l.p.m.Visible(v, l.at)
	}
	l.p.checkRead(l.gen, key, v)
	if v.There() {
		l.found[l.n] = v
		l.n++
	}
}

// give has the program visit what was added.
func (l *snapshotLoop) give(visit func(c *chunk) bool) (goOn bool) {
	l.check()
	goOn = visit(&l.chunk)
	l.n = 0
	return goOn
}

// len is [Snapshot.Len].
//
//go:noinline
func (s moment) len() (n int) {
	s.all(func(b *chunk) bool {
		n += b.n
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
	l := s.loop(1)
	for c := index.CursorIn(l.p.index, r, last); l.n == 0 && c.Next(); {
		l.fill(&c)
	}
	s.check()
	runtime.KeepAlive(s.st)
	return l.found[0]
}

// end is [Map.Min], or [Map.Max].
func (m *core) end(last bool) *chain.Node {
	m.checkOrdered(false)
	s := m.snapshotFor(forCall)
	defer s.Close()
	return s.end(last)
}

// checkOrdered panics if the keys have no order, or if a range, which is a prefix, has no meaning
// in it.
func (m *core) checkOrdered(prefix bool) {
	if m.order == nil {
		panic("mvcc: the keys of the map have no order: make it with mvcc.NewOrdered")
	}
	if prefix && !m.order.natural {
		panic(errPrefix)
	}
}
