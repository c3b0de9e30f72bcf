package mvcc

import (
	"cmp"
	"iter"
	"runtime"
	"slices"
	"sort"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
)

// NewOrdered returns an empty map whose keys have the order of Go's operators: beside all that a
// map by [New] does, its snapshots and transactions iterate over ranges of keys, see
// [Snapshot.Ascend]. Inserting a key that is new to the map, and forgetting a deleted one, takes a
// mutex for some microseconds; all else, reads and writes of keys that are there included, costs
// what it costs in a map without an order, and does not wait for the mutex.
func NewOrdered[K cmp.Ordered, V any](opts *Options) *Map[K, V] {
	return newAlone[K, V](opts, naturalOrder[K]())
}

// NewOrderedFunc is [NewOrdered] with an order of one's own: compare returns a negative number
// if a comes before b, a positive one if it comes after, and 0 if and only if a == b. If it
// does not, keys are missed; a write that inserts a key panics if it sees 0 for keys that are not
// equal. compare is called by many goroutines at once, even while a mutex is held: it must not use
// the map, and not panic. [Prefix] is not for such a map.
func NewOrderedFunc[K comparable, V any](compare func(a, b K) int, opts *Options) *Map[K, V] {
	if compare == nil {
		panic("mvcc: NewOrderedFunc: compare is nil")
	}
	return newAlone[K, V](opts, newOrder(compare))
}

// NewOrderedTable is [NewTable] for a table whose keys have an order, see [NewOrdered].
func NewOrderedTable[K cmp.Ordered, V any](db *DB, name string, opts *TableOptions) *Map[K, V] {
	return addTable[K, V](db, name, opts, naturalOrder[K](), false)
}

// NewOrderedTableFunc is [NewTable] for a table with an order of one's own, see
// [NewOrderedFunc].
func NewOrderedTableFunc[K comparable, V any](
	db *DB, name string, compare func(a, b K) int, opts *TableOptions,
) *Map[K, V] {
	if compare == nil {
		panic("mvcc: NewOrderedTableFunc: compare is nil")
	}
	return addTable[K, V](db, name, opts, newOrder(compare), false)
}

// checkOrdered panics if the keys have no order, or if r has no meaning in it.
func checkOrdered[K any](m *core, r *Range[K]) {
	if m.order == nil {
		panic("mvcc: the keys of the map have no order: make it with mvcc.NewOrdered")
	}
	if r.prefix && !m.order.isNatural() {
		panic(errPrefix)
	}
}

// Ascend returns an iterator over the keys of r and their values as of the snapshot, from the
// lowest to the highest. The zero Range has all keys. It takes no lock: the loop may take its time,
// stop early, and use the map in any way. Finding the first key costs a search in a tree, each step
// somewhat more than a Get; deleted keys that a snapshot may still see are passed over one by one.
// A loop allocates some small objects. It panics if the keys have no order, and a step with
// [ErrTxDone] if the snapshot is closed.
func (s Snapshot[K, V]) Ascend(r Range[K]) iter.Seq2[K, V] { return s.ranged(r, false) }

// Descend is [Snapshot.Ascend] from the highest key to the lowest.
func (s Snapshot[K, V]) Descend(r Range[K]) iter.Seq2[K, V] { return s.ranged(r, true) }

// Min returns the lowest key as of the snapshot, and its value, if there is any. It panics as
// [Snapshot.Ascend] does.
func (s Snapshot[K, V]) Min() (key K, value V, ok bool) { return first(s.Ascend(Range[K]{})) }

// Max returns the highest key, see [Snapshot.Min].
func (s Snapshot[K, V]) Max() (key K, value V, ok bool) { return first(s.Descend(Range[K]{})) }

func first[K, V any](seq iter.Seq2[K, V]) (key K, value V, ok bool) {
	for key, value := range seq {
		return key, value, true
	}
	return key, value, false
}

//go:noinline
func (s Snapshot[K, V]) ranged(r Range[K], down bool) iter.Seq2[K, V] {
	s.check()
	checkOrdered(s.st.m, &r)
	// Every key that is visible here was in the order before the snapshot began, and stays
	// until it has closed.
	return s.each(func(visit func(place, *node) bool) (all bool) {
		return scanRange(s.st.m, &r, down, visit)
	})
}

// Ascend returns an iterator over the keys of r, from the lowest to the highest, with the
// transaction's own writes made before the loop began, and for every other key the value as
// of the read epoch. The loop may write to the transaction; that changes nothing of what it
// visits. At level serializable the part of r that the loop has gone through joins the read set:
// a commit elsewhere is a conflict if it writes, inserts or deletes a key of that part, and
// no other. So to read a page, break off the loop. (If the transaction has lost again and
// again, its turn is on all keys of the map.) See also [Snapshot.Ascend]; beyond that each loop
// sorts in the own writes made since the one before, and allocates a list of those in r.
func (tx Tx[K, V]) Ascend(r Range[K]) iter.Seq2[K, V] { return tx.ranged(r, false) }

// Descend is [Tx.Ascend] from the highest key to the lowest.
func (tx Tx[K, V]) Descend(r Range[K]) iter.Seq2[K, V] { return tx.ranged(r, true) }

// Min returns the lowest key and its value, if there is any. All that is lower is read.
func (tx Tx[K, V]) Min() (key K, value V, ok bool) { return first(tx.Ascend(Range[K]{})) }

// Max returns the highest key and its value, if there is any. All that is higher is read: so
// two transactions that append after the highest key conflict.
func (tx Tx[K, V]) Max() (key K, value V, ok bool) { return first(tx.Descend(Range[K]{})) }

//go:noinline
func (tx Tx[K, V]) ranged(r Range[K], down bool) iter.Seq2[K, V] {
	tx.check()
	checkOrdered(tx.st.m, &r)
	return func(yield func(K, V) bool) {
		tx.check()
		l := txLoop[K, V]{tx: tx, compare: comparing[K](tx.st.m.order), r: r, down: down, at: tx.st.epoch(), noted: -1, yield: yield}
		l.begin()
		all := scanRange(tx.st.m, &r, down, l.visit)
		if all {
			all = l.before(nil)
		}
		if all {
			tx.check()
			l.note(r)
		}
		runtime.KeepAlive(tx.st)
	}
}

// A txLoop is a loop over a range of keys in a transaction.
type txLoop[K comparable, V any] struct {
	tx      Tx[K, V]
	compare func(a, b K) int
	r       Range[K]
	down    bool
	at      epoch.Epoch
	noted   int     // the number of what was gone through, in the read set, or -1
	own     []write // in the order of the loop
	yield   func(K, V) bool
}

// begin finds the own writes.
func (l *txLoop[K, V]) begin() {
	st := l.tx.st
	st.enter()
	defer st.leave() // compare may panic
	st.hasRead = true
	st.rare().looped = true
	l.own = ownWrites(st, &l.r, l.down)
}

// visit visits a key of the map, and before it the own writes that come before it.
func (l *txLoop[K, V]) visit(_ place, head *node) bool {
	st, key := l.tx.st, keyOf[K](head)
	v := st.m.visible(head, l.at)
	value, ok := present[K, V](v)
	st.checkRead(l.tx.gen, head.key(), v)
	l.tx.check()
	if !l.before(&key) {
		return false
	}
	if len(l.own) > 0 && keyOf[K](l.own[0].v) == key {
		w := l.own[0]
		l.own = l.own[1:]
		return l.one(w)
	}
	return !ok || l.give(keyOf[K](v), value)
}

// before visits the own writes that come before key, or all if that is nil.
func (l *txLoop[K, V]) before(key *K) bool {
	for len(l.own) > 0 {
		w := l.own[0]
		if key != nil {
			if c := l.compare(keyOf[K](w.v), *key); c == 0 || (c > 0) != l.down {
				return true
			}
		}
		l.own = l.own[1:]
		if !l.one(w) {
			return false
		}
	}
	return true
}

// one visits an own write.
func (l *txLoop[K, V]) one(w write) bool {
	value, ok := present[K, V](w.v)
	if w.merge != nil {
		l.noteTo(keyOf[K](w.v)) // it is a read, even if it panics
		value = l.tx.merged(w, l.at)
	}
	return !ok || l.give(keyOf[K](w.v), value)
}

func (l *txLoop[K, V]) give(key K, value V) bool {
	l.noteTo(key)
	if !l.yield(key, value) {
		return false
	}
	l.tx.check()
	return true
}

// noteTo notes that the loop has gone through all up to key.
func (l *txLoop[K, V]) noteTo(key K) {
	part := l.r
	if l.down {
		part.low = bound[K]{key, inclusive}
	} else {
		part.high = bound[K]{key, inclusive}
	}
	l.note(part)
}

// note makes part what the loop has gone through.
func (l *txLoop[K, V]) note(part Range[K]) {
	st := l.tx.st
	if st.level != LevelSerializable {
		return
	}
	st.enter()
	defer st.leave() // compare may panic
	ranges := st.ranges
	at := func(i int) *Range[K] { return (*Range[K])(ranges[i]) }
	// A loop may take over what another has noted: what replaces a range contains it.
	switch last := len(ranges) - 1; {
	case l.noted >= 0 && part.contains(l.compare, *at(l.noted)):
		*at(l.noted) = part
	case l.noted >= 0 && at(l.noted).contains(l.compare, part):
		// A loop within this one has made it wider.
	case last >= 0 && part.contains(l.compare, *at(last)):
		l.noted = last // as when the first is taken again and again
		*at(last) = part
	default:
		l.noted = last + 1
		own, rare := part, st.rare()
		rare.ranges = append(rare.ranges, unsafe.Pointer(&own))
	}
}

// ownWrites returns copies of the writes to keys of r, in the order of a loop.
func ownWrites[K any](st *txState, r *Range[K], down bool) (own []write) {
	if len(st.writes) == 0 {
		return nil
	}
	compare := comparing[K](st.m.order)
	st.sortWrites()
	key := func(i int) K { return keyOf[K](st.writes[st.inOrder[i]].v) }
	n := len(st.inOrder)
	low := sort.Search(n, func(i int) bool { return !r.below(compare, key(i)) })
	for i := low; i < n && !r.above(compare, key(i)); i++ {
		own = append(own, st.writes[st.inOrder[i]])
	}
	if down {
		slices.Reverse(own)
	}
	return own
}

// sortWrites brings inOrder up to date: so a transaction that reads and writes in turn, say
// one that inserts what it does not find, need not look through all of its writes each time.
func (st *txState) sortWrites() {
	all, compare := st.inOrder, st.m.order.compareNodes
	if n := len(all); len(st.writes)-n > linearWrites {
		all = slices.Clone(all) // compare may panic
		for i := n; i < len(st.writes); i++ {
			all = append(all, int32(i))
		}
		slices.SortFunc(all, func(a, b int32) int {
			return compare(st.writes[a].v, st.writes[b].v)
		})
		st.rare().inOrder = all
		return
	}
	for i := len(all); i < len(st.writes); i++ {
		at := sort.Search(i, func(j int) bool {
			return compare(st.writes[st.inOrder[j]].v, st.writes[i].v) > 0
		})
		rare := st.rare()
		rare.inOrder = slices.Insert(rare.inOrder, at, int32(i))
	}
}

// Ascend returns an iterator over the keys of r, from the lowest to the highest, as of one
// moment: when the loop begins. See [Map.All] and [Snapshot.Ascend]. It panics if the keys
// have no order.
func (m *Map[K, V]) Ascend(r Range[K]) iter.Seq2[K, V] { return m.ranged(r, false) }

// Descend is [Map.Ascend] from the highest key to the lowest.
func (m *Map[K, V]) Descend(r Range[K]) iter.Seq2[K, V] { return m.ranged(r, true) }

// Min returns the lowest key and its value, if there is any, as of one moment. It panics if
// the keys have no order.
func (m *Map[K, V]) Min() (key K, value V, ok bool) { return first(m.Ascend(Range[K]{})) }

// Max returns the highest key and its value, see [Map.Min].
func (m *Map[K, V]) Max() (key K, value V, ok bool) { return first(m.Descend(Range[K]{})) }

//go:noinline
func (m *Map[K, V]) ranged(r Range[K], down bool) iter.Seq2[K, V] {
	m.check()
	checkOrdered(m.core(), &r)
	return func(yield func(K, V) bool) {
		s := m.Snapshot()
		defer s.Close()
		s.ranged(r, down)(yield)
	}
}
