package mvcc

import (
	"cmp"
	"fmt"
	"iter"

	"github.com/mvccmap/mvccmap/internal/engine/hasher"
)

// NewOrdered returns an empty map whose keys have the order of Go's operators, for ranges, see
// [Snapshot.Ascend]. It keeps them in a tree: each look-up of a key costs a search.
func NewOrdered[K cmp.Ordered, V any](opts *Options) *Map[K, V] {
	return newAlone(opts, naturalOrder(hasher.TypeOf((*K)(nil))), recordTypeOf[K, V]()).(*Map[K, V])
}

// NewOrderedFunc is [NewOrdered] with an order by compare, which returns a negative number if a
// comes before b, a positive one if it comes after, and 0 if and only if a == b. (For a time.Time
// == compares the zone and the monotonic reading as well: let keys be t.UTC().Round(0).) Otherwise
// keys are missed; an insert panics if it sees 0 for keys that are not equal.
//
// Every call with a key calls compare, some ten to thirty times, in many goroutines: it should be
// quick, and must not use the map.
func NewOrderedFunc[K comparable, V any](compare func(a, b K) int, opts *Options) *Map[K, V] {
	if compare == nil {
		panic("mvcc: NewOrderedFunc: compare is nil")
	}
	return newAlone(opts, orderBy(compare), recordTypeOf[K, V]()).(*Map[K, V])
}

// NewOrderedTable is [NewTable] with the order of [NewOrdered].
func NewOrderedTable[K cmp.Ordered, V any](db *DB, name string, opts *TableOptions) *Map[K, V] {
	by := naturalOrder(hasher.TypeOf((*K)(nil)))
	return mapOf[K, V](addTable(db, name, opts, by, recordTypeOf[K, V](), false))
}

// NewOrderedTableFunc is [NewTable] with the order of [NewOrderedFunc].
func NewOrderedTableFunc[K comparable, V any](
	db *DB, name string, compare func(a, b K) int, opts *TableOptions,
) *Map[K, V] {
	if compare == nil {
		panic("mvcc: NewOrderedTableFunc: compare is nil")
	}
	return mapOf[K, V](addTable(db, name, opts, orderBy(compare), recordTypeOf[K, V](), false))
}

// Ascend is [Snapshot.All] for the keys of r, from the lowest to the highest. Finding the first key
// costs a search in a tree, each step much less than a Get, also over deleted keys that a snapshot
// may still see. A loop allocates some small objects. It panics if the keys have no order.
func (s Snapshot[K, V]) Ascend(r Range[K]) iter.Seq2[K, V] { return s.ranged(r, false) }

// Descend is [Snapshot.Ascend] from the highest key to the lowest.
func (s Snapshot[K, V]) Descend(r Range[K]) iter.Seq2[K, V] { return s.ranged(r, true) }

// Min returns the lowest key, and its value. It panics if the keys have no order.
func (s Snapshot[K, V]) Min() (key K, value V, ok bool) { return recordIn[K, V](moment(s).end(false)) }

// Max returns the highest key, see [Snapshot.Min].
func (s Snapshot[K, V]) Max() (key K, value V, ok bool) { return recordIn[K, V](moment(s).end(true)) }

//go:noinline
func (s Snapshot[K, V]) ranged(r Range[K], down bool) iter.Seq2[K, V] {
	s.check()
	s.st.engine().checkOrdered(r.prefix)
	return records[K, V](looping{s: moment(s), in: spanOf(&r), ranged: true, down: down})
}

// Ascend is [Snapshot.Ascend] with own writes as in [Tx.All]. To read a page, break off the loop:
// then the rest of r is not read. (If the transaction has lost again and again, its turn is on all
// keys of the map.) Each loop sorts in the own writes since the loop before, and allocates a list
// of the own writes in r, or of a few if it ends at once.
func (tx Tx[K, V]) Ascend(r Range[K]) iter.Seq2[K, V] { return tx.ranged(r, false) }

// Descend is [Tx.Ascend] from the highest key to the lowest.
func (tx Tx[K, V]) Descend(r Range[K]) iter.Seq2[K, V] { return tx.ranged(r, true) }

// Min is [Snapshot.Min] with own writes. It reads all lower keys.
func (tx Tx[K, V]) Min() (key K, value V, ok bool) { return recordIn[K, V](DBTx(tx).end(false)) }

// Max returns the highest key, and reads all higher ones: so two transactions that append after it
// conflict.
func (tx Tx[K, V]) Max() (key K, value V, ok bool) { return recordIn[K, V](DBTx(tx).end(true)) }

//go:noinline
func (tx Tx[K, V]) ranged(r Range[K], down bool) iter.Seq2[K, V] {
	tx.check()
	tx.st.engine().checkOrdered(r.prefix)
	return records[K, V](looping{s: moment(tx), tx: true, in: spanOf(&r), ranged: true, down: down})
}

// Ascend is [Snapshot.Ascend] of a snapshot of its own, as in [Map.All].
func (m *Map[K, V]) Ascend(r Range[K]) iter.Seq2[K, V] { return m.ranged(r, false) }

// Descend is [Map.Ascend] from the highest key to the lowest.
func (m *Map[K, V]) Descend(r Range[K]) iter.Seq2[K, V] { return m.ranged(r, true) }

// Min is [Snapshot.Min] of the map as it is now.
func (m *Map[K, V]) Min() (key K, value V, ok bool) { return recordIn[K, V](m.engine().end(false)) }

// Max returns the highest key, see [Map.Min].
func (m *Map[K, V]) Max() (key K, value V, ok bool) { return recordIn[K, V](m.engine().end(true)) }

//go:noinline
func (m *Map[K, V]) ranged(r Range[K], down bool) iter.Seq2[K, V] {
	m.engine().checkOrdered(r.prefix)
	return records[K, V](looping{of: m.engine(), in: spanOf(&r), ranged: true, down: down})
}

// CountRange returns how many keys of an ordered map r has in a range. It reads the keys, and
// panics, as a loop over Ascend does. It costs a few nanoseconds for each key, and allocates some
// small objects.
func CountRange[K comparable, V any](r Reader[K, V], keys Range[K]) int {
	l := looping{in: spanOf(&keys), ranged: true}
	switch r := r.(type) {
	case *Map[K, V]:
		l.of = r.engine()
	case Snapshot[K, V]:
		r.check()
		l.s = moment(r)
	case Tx[K, V]:
		r.check()
		l.s, l.tx = moment(r), true
	default:
		panic(fmt.Sprintf("mvcc: CountRange: the reader is a %T, want a Map, Snapshot or Tx", r))
	}
	return l.count(keys.prefix)
}

// A Range is a range of the keys of an ordered map: From(a).Before(b) has a and not b, the zero
// Range all keys. A range whose high end is below the low one is empty.
type Range[K any] struct {
	low, high bound[K]
	prefix    bool // it is one by Prefix, and so for the order of Go's operators
}

// A bound is one end of a range.
type bound[K any] struct {
	key  K
	kind boundKind
}

type boundKind uint8

const (
	open boundKind = iota
	inclusive
	exclusive
)

// From returns the range of the keys that are low or higher.
func From[K any](low K) Range[K] { return Range[K]{low: bound[K]{low, inclusive}} }

// After returns the range of the keys that are higher than low.
func After[K any](low K) Range[K] { return Range[K]{low: bound[K]{low, exclusive}} }

// UpTo returns the range of the keys that are high or lower.
func UpTo[K any](high K) Range[K] { return Range[K]{}.UpTo(high) }

// Before returns the range of the keys that are lower than high.
func Before[K any](high K) Range[K] { return Range[K]{}.Before(high) }

// Prefix returns the range of the strings that begin with prefix. Its use in an order by a function
// panics.
func Prefix[K ~string](prefix K) Range[K] {
	r := From(prefix)
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff { // the least string above all with the prefix
			r = r.Before(prefix[:i] + K([]byte{prefix[i] + 1}))
			break
		}
	}
	r.prefix = true
	return r
}

// UpTo returns r with another high end: high itself.
func (r Range[K]) UpTo(high K) Range[K] {
	r.high, r.prefix = bound[K]{high, inclusive}, false
	return r
}

// Before returns r with another high end: below high.
func (r Range[K]) Before(high K) Range[K] {
	r.high, r.prefix = bound[K]{high, exclusive}, false
	return r
}
