package mvcc

import (
	"runtime"
	"slices"
	"sort"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
)

// all is [Tx.All].
//
//go:noinline
func (tx DBTx) all(visit func(v *node) bool) {
	tx.check()
	st := stateOf(tx.st)
	m := st.m
	at := st.epoch()
	st.enter()
	st.hasRead = true
	st.rare().scanned, st.looped = true, true
	// From here on put makes new versions: what the loop writes does not
	// change what it is still to visit.
	mine := slices.Clone(st.writes)
	own := len(mine)
	st.leave()
	for i := range mine {
		v := mine[i].v
		if mine[i].merge != nil {
			v = tx.merged(&mine[i], at)
		}
		if v.there() && !visit(v) {
			return
		}
		tx.check()
	}
	left := false
	m.index.scan(func(_ place, head *node) bool {
		v := m.visible(head, at)
		st.checkRead(tx.gen, head.key(), v)
		tx.check()
		if !v.there() {
			return true
		}
		if own > 0 {
			if i := st.find(head.key()); i >= 0 && i < own {
				return true
			}
		}
		left = !visit(v)
		return !left
	})
	if !left {
		tx.check()
	}
	runtime.KeepAlive(st)
}

// ranged is [Tx.Ascend], or [Tx.Descend], for the keys of r, a *Range or nil for all.
//
//go:noinline
func (tx DBTx) ranged(r unsafe.Pointer, down bool, visit func(v *node) bool) {
	tx.check()
	st := stateOf(tx.st)
	l := txLoop{tx: tx, order: st.m.order, r: r, down: down, at: st.epoch(), noted: -1, yield: visit}
	l.begin()
	all := st.m.scanRange(r, down, l.visit)
	if all {
		all = l.before(nil)
	}
	if all {
		tx.check()
		l.noteTo(nil)
	}
	runtime.KeepAlive(tx.st)
}

// end is [Tx.Min], or [Tx.Max] if last is set: nil if there are no keys.
//
//go:noinline
func (tx DBTx) end(last bool) *node {
	tx.check()
	stateOf(tx.st).m.checkOrdered(false)
	return firstOf(func(visit func(v *node) bool) { tx.ranged(nil, last, visit) })
}

// A txLoop is a loop over a range of keys in a transaction.
type txLoop struct {
	tx    DBTx
	order order
	r     unsafe.Pointer
	down  bool
	at    epoch.Epoch
	noted int     // the number of what was gone through, in the read set, or -1
	own   []write // in the order of the loop
	yield func(v *node) bool
}

// begin finds the own writes.
func (l *txLoop) begin() {
	st := stateOf(l.tx.st)
	st.enter()
	defer st.leave() // compare may panic
	st.hasRead = true
	st.rare().looped = true
	l.own = st.ownWrites(l.r, l.down)
}

// visit visits a key of the map, and before it the own writes that come before it.
func (l *txLoop) visit(_ place, head *node) bool {
	st := stateOf(l.tx.st)
	v := st.m.visible(head, l.at)
	st.checkRead(l.tx.gen, head.key(), v)
	l.tx.check()
	if !l.before(head) {
		return false
	}
	if len(l.own) > 0 && st.index.hash.same(l.own[0].v, head) {
		w := l.own[0]
		l.own = l.own[1:]
		return l.one(&w)
	}
	return !v.there() || l.give(v)
}

// before visits the own writes that come before the key of head, or all if that is nil.
func (l *txLoop) before(head *node) bool {
	for len(l.own) > 0 {
		w := l.own[0]
		if head != nil {
			if c := l.order.compareNodes(w.v, head); c == 0 || (c > 0) != l.down {
				return true
			}
		}
		l.own = l.own[1:]
		if !l.one(&w) {
			return false
		}
	}
	return true
}

// one visits an own write.
func (l *txLoop) one(w *write) bool {
	v := w.v
	if w.merge != nil {
		l.noteTo(v) // it is a read, even if it panics
		v = l.tx.merged(w, l.at)
	}
	return !v.there() || l.give(v)
}

func (l *txLoop) give(v *node) bool {
	l.noteTo(v)
	if !l.yield(v) {
		return false
	}
	l.tx.check()
	return true
}

// noteTo notes that the loop has gone through all up to the key of v, or all if that is nil.
func (l *txLoop) noteTo(v *node) {
	st := stateOf(l.tx.st)
	if st.level != LevelSerializable {
		return
	}
	st.enter()
	defer st.leave() // compare may panic
	var to unsafe.Pointer
	if v != nil {
		to = v.key()
	}
	ranges, noted := l.order.gone(st.ranges, l.noted, l.r, to, l.down)
	l.noted = noted
	if len(ranges) > len(st.ranges) {
		st.rare().ranges = ranges
	}
}

// ownWrites returns copies of the writes to keys of r, in the order of a loop.
func (st *txState) ownWrites(r unsafe.Pointer, down bool) (own []write) {
	if len(st.writes) == 0 {
		return nil
	}
	st.sortWrites()
	side := func(i int) int { return st.m.order.side(r, st.writes[st.inOrder[i]].v.key()) }
	n := len(st.inOrder)
	low := sort.Search(n, func(i int) bool { return side(i) >= 0 })
	for i := low; i < n && side(i) == 0; i++ {
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
