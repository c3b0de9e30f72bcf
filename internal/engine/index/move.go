package index

import (
	"math/bits"
	"runtime"
	stdatomic "sync/atomic"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// moveBatch is how many buckets an insert moves, beside its own, while the table is
// being resized. A table that grows has room for fill/4 new keys in each of its buckets
// before it is as full as the one before, so one bucket for each key is enough.
const moveBatch = 2

// wanted returns how many buckets a table in place of t should have, or 0 if t is good. It returns
// the present size of t if t has more overflows than its keys need.
func (x *Index) wanted(t *hashTable) int {
	n, entries := len(t.buckets), x.entries.Value()
	switch {
	case entries > int64(n)*fill/4:
		return 2 * n
	case n > x.min && entries < int64(n)*fill/4/8:
		return n / 2
	case t.crowded.Load() > max(int64(n)/2, MinBuckets):
		return n
	}
	return 0
}

// overflowed is called when an insert has given an overflow to t, which is or was the newest table.
// So t may have too many keys, or too many overflows.
func (x *Index) overflowed(t *hashTable) {
	t.crowded.Add(1)
	if n := x.wanted(t); n >= len(t.buckets) {
		x.resize(t, n)
	}
}

// Tend does a part of the work to be done: it begins to move to a table of another size if the
// present one has too many or far too few keys, and moves some buckets if a table is being
// replaced. It reports whether there is more. It must be called from time to time: a removal of a
// key does not begin to resize.
func (x *Index) Tend() (more bool) {
	if x.tree != nil {
		return false // it grows and shrinks by itself
	}
	t := x.table.Load()
	if n := x.wanted(t); n != 0 {
		x.resize(t, n)
	}
	if !t.resizing.Load() {
		return false
	}
	if t.next.Load() == nil {
		runtime.Gosched() // to the goroutine about to announce it
		return true
	}
	for n := 0; n < tendBatch && x.moveSome(t); n++ {
	}
	if t.taken.Load() >= 2*int64(len(t.buckets)) {
		// Some were locked both times.
		for i := range t.buckets {
			x.moveBucket(t, i, false)
		}
	}
	t = x.table.Load()
	return t.resizing.Load() || x.wanted(t) != 0
}

const tendBatch = 1 << 13

// resize begins to replace t by a table of n buckets, if t is the present table, unless another
// goroutine has begun. If n is small, resize moves all buckets at once. If n is not large, it
// announces the new table at once, so that inserters need not fill t until the background gets its
// turn. The background and inserters move the buckets; without a background inserters do, a few
// each.
func (x *Index) resize(t *hashTable, n int) {
	if x.table.Load() != t || t.resizing.Swap(true) {
		return
	}
	announce := func() { t.next.Store(newHashTable(n)) }
	atOnce := n <= x.small*largeTable
	if atOnce {
		announce()
	}
	all := func() {
		if !atOnce {
			announce()
		}
		for n := 1; x.moveSome(t); n++ {
			if n%moveYields == 0 {
				runtime.Gosched()
			}
		}
	}
	switch {
	case n <= x.small:
		all()
		return
	case !x.Spawn(all) && !atOnce:
		announce()
	}
	// tend moves as well: inserters may stop, and some buckets may be locked both times.
	x.Wake()
}

// moveYields is after how many batches the background lets others go first. Inserters move buckets
// as well, so the background can do without its share of the processors, which is 10 ms at a time
// where these are all busy.
const moveYields = 256

// The background makes a table of more than largeTable times the size of a small one: that takes
// some hundred microseconds.
const largeTable = 128

// help moves the bucket of hash h from t to the next table, and some others.
func (x *Index) help(t *hashTable, h uint64) {
	x.moveBucket(t, int(h>>(t.shift&63)), true)
	x.moveSome(t)
}

// moveSome moves the next buckets of t, except those that are locked. It reports whether to go on:
// movers go through the table twice.
func (x *Index) moveSome(t *hashTable) bool {
	n := int64(len(t.buckets))
	last := t.taken.Add(moveBatch)
	for i := last - moveBatch; i < last; i++ {
		x.moveBucket(t, int(i%n), false)
	}
	return last < 2*n && t.next.Load() != nil
}

// after returns the table in which to go on with a key whose bucket of t has moved. A table whose
// buckets have all moved forgets its next one, which may be gone as well: so a long scan that still
// looks at t keeps no other table.
func (x *Index) after(t *hashTable) *hashTable {
	if next := t.next.Load(); next != nil {
		return next
	}
	return x.table.Load()
}

// moveBucket moves bucket i of t to the next table, unless it has moved, or is locked and the
// caller does not wait. The goroutine that moves the last one puts the next table in
// the place of t.
func (x *Index) moveBucket(t *hashTable, i int, wait bool) {
	next := t.next.Load()
	b := &t.buckets[i]
	if meta := b.meta.Load(); next == nil || meta&bucketMoved != 0 || meta&bucketLocked != 0 && !wait {
		return
	}
	var room [BucketCells]moved
	m := mover{Index: x, t: next, shift: t.shift, prefix: uint64(i), done: room[:0]}
	for {
		// Memory is allocated here, enough of it: none is under the lock.
		length := b.length()
		if length > 1 && cap(m.done) < length*BucketCells {
			m.done = make([]moved, 0, length*BucketCells)
		}
		for len(m.spare) < length && (length > 1 || len(next.buckets) < len(t.buckets)) {
			m.spare = append(m.spare, new(overflow))
		}
		if !b.lock() {
			return
		}
		if b.length() != length {
			b.unlock()
			continue
		}
		if len(next.buckets) >= len(t.buckets) {
			break // nobody else uses the buckets that this one becomes before it has moved
		}
		// All keys go to one bucket, into which others insert and move keys. m.to is locked, so
		// that they do not meanwhile: our memory is enough only for the keys here.
		if m.to = &next.buckets[i>>(next.shift-t.shift)]; m.to.tryLock() {
			break
		}
		b.unlock()
		if !wait {
			return
		}
		runtime.Gosched()
	}
	for at := b; at != nil; at = at.after() {
		for i := range at.cells {
			m.moveCell(Place{at, uint8(i)})
		}
	}
	hooks.At(hooks.CellsMoved)
	if m.to != nil {
		m.to.edited()
		m.to.meta.And(^uint64(bucketLocked))
	}
	// The first bucket is marked as moved last: its mark is that of the chain. Later visits are
	// asked for in the next table.
	rest := m.done
	for len(rest) > 0 && rest[0].from.Bucket == b {
		rest = rest[1:]
	}
	for at := b.after(); at != nil; at = at.after() {
		rest = takeOver(at, rest)
	}
	takeOver(b, m.done)
	b.unlock()
	if t.done.Add(1) == int64(len(t.buckets)) {
		x.table.Store(next)
		hooks.At(hooks.TableReplaced)
		t.next.Store(nil) // must follow: see after
		if n := x.wanted(next); n > len(next.buckets) {
			x.resize(next, n)
		}
	}
	hooks.At(hooks.BucketMoved)
	for _, d := range m.done {
		if d.asked {
			x.Ask(d.to, d.hash, d.head.Key())
		}
	}
}

// length returns the number of buckets of the chain.
func (b *Bucket) length() (n int) {
	for ; b != nil; b = b.after() {
		n++
	}
	return n
}

// after returns the next bucket of the chain, or nil.
func (b *Bucket) after() *Bucket {
	if o := b.over.Load(); o != nil {
		return &o.bucket
	}
	return nil
}

// takeOver marks b as moved, and notes in done which visits were asked for. done begins with the
// keys that have moved out of b; takeOver returns the rest.
func takeOver(b *Bucket, done []moved) []moved {
	asked := b.meta.Or(bucketMoved)
	for i := range done {
		d := &done[i]
		if d.from.Bucket != b {
			return done[i:]
		}
		d.asked = asked&(firstVisit<<d.from.I) != 0
	}
	return nil
}

// A mover moves the cells of one bucket, which is locked, to table t. If t is the smaller table,
// all cells go to one bucket, the field to, which is locked too.
type mover struct {
	*Index
	t      *hashTable
	shift  uint8  // of the table that the bucket is of,
	prefix uint64 // and the bucket's number there
	to     *Bucket
	spare  []*overflow
	done   []moved
}

// target returns the bucket for a key with hash h: one of those that our bucket becomes, whatever h
// is. (The bytes of a key, and so its hash, may have changed since it was stored.) The other
// buckets are not ours, and we have no memory for them.
func (m *mover) target(h uint64) *Bucket {
	if m.to != nil {
		return m.to
	}
	more := m.shift - m.t.shift // bits that choose among them
	return &m.t.buckets[m.prefix<<more|h>>m.t.shift&(1<<more-1)]
}

// moved is a key that has moved, with a head that it had, and whether a visit was asked
// for.
type moved struct {
	from, to Place
	hash     uint64
	head     *chain.Node
	asked    bool
}

// moveCell moves the contents of the cell at p. It first fills a cell of the new table; a goroutine
// loads the new cell only after it has found the old cell marked. Then moveCell marks the old cell.
// If the head has changed meanwhile, moveCell does both again.
func (m *mover) moveCell(p Place) {
	s := p.Cell()
	v := rawLoad(s)
	if !m.IsHead(v) {
		return // free, and nobody puts anything into it but under the lock
	}
	h := m.Hash.Sum(v.Key())
	d := moved{to: m.fillCell(m.target(h), TagOf(h), v), hash: h, head: v, from: p}
	for {
		hooks.At(hooks.CellFilled)
		if stdatomic.CompareAndSwapPointer(rawWord(s), unsafe.Pointer(v), unsafe.Pointer(m.Moved)) {
			break
		}
		v = rawLoad(s) // overwritten; nobody takes the key out now
		rawStore(d.to.Cell(), v)
	}
	m.done = append(m.done, d)
}

// tryLock locks b, the first bucket of a chain, unless it is locked, for a goroutine that is pinned
// already. b has not moved: the table after the next one is announced when this one is complete.
func (b *Bucket) tryLock() bool {
	for {
		meta := b.meta.Load()
		if meta&bucketLocked != 0 {
			return false
		}
		if b.meta.CompareAndSwap(meta, meta|bucketLocked) {
			return true
		}
	}
}

// fillCell puts v into a free cell of the chain that begins at b, which nobody else changes.
func (m *mover) fillCell(b *Bucket, tag uint64, v *chain.Node) Place {
	for {
		if free := matching(b.meta.Load(), 0); free != 0 {
			p := Place{b, uint8(bits.TrailingZeros64(free) / 8)}
			rawStore(p.Cell(), v)
			p.setTag(tag)
			return p
		}
		if b.over.Load() == nil {
			last := len(m.spare) - 1
			b.over.Store(m.spare[last])
			m.spare = m.spare[:last]
			m.t.needed.Add(1)
		}
		b = b.after()
	}
}
