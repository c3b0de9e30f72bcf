package mvcc

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/internal/engine/hasher"
)

// An Index finds the records of a table by index keys of type I, which a function makes of each
// record: exactly those that a snapshot or transaction sees in the table. Use [NewIndex] or
// [NewOrderedIndex]. Any number of goroutines may use it.
type Index[I, K comparable, V any] struct {
	_ noCopy

	m     *Map[K, V]
	name  string
	keys  func(key K, value V) []I
	sound bool   // i == i for every index key i
	order *order // of index keys, nil if they have none
	// Of the keys in its tables, which stay when a record is overwritten.
	ownIndex owner[I]
	ownKey   owner[K]
	*collation
	// The tables of the index: a unique one has the key of the record by its index key, others have
	// entries.
	unique  inner[I, K]
	entries inner[entry[I, K], none]
	table   *engine // that which there is

	since atomic.Uint64 // the epoch from which on the index is right, 0 before
}

// IndexOptions configures an index.
type IndexOptions struct {
	// Unique: no two records may have the same index key, see [UniqueError].
	Unique bool

	_ struct{}
}

// NewIndex makes an index, without an order, of the table m. keys returns the index keys of a
// record, or none; a double one counts once. It must return the same for the same record, not use
// the database, and not change its arguments. Each write of a record calls it, for the old value
// and the new one. NewIndex panics if m is not a table, if the name is empty or taken, or in the
// function of an Update.
//
// The table may be in use. NewIndex writes the index, and every record again, in small
// transactions, and returns when it is complete. Transactions under way may conflict, once. Those
// and snapshots that began before it returned cannot read the index. It returns a [*UniqueError],
// and no index, if the index is to be unique and the records are not.
//
// A write of a record reads the old record first: so [Tx.Set], [Tx.Delete] and [Tx.Merge] are reads
// of the key as well. Where index keys have changed, it conflicts with transactions that have
// searched for such an index key, or read a range with it.
//
// One-key operations like [Map.Store] are transactions then, and cost as much; one that changes no
// index key, two calls of keys. They panic with a *UniqueError where [Map.Put] and [Map.Update]
// return it. Functions given to [Map.Compute] and the like may be called once more.
//
// Reading the table costs nothing more. An entry takes about as much memory as a key of an ordered
// table.
func NewIndex[I, K comparable, V any](
	m *Map[K, V], name string, keys func(key K, value V) []I, opts *IndexOptions,
) (*Index[I, K, V], error) {
	return newIndexOf(m, "NewIndex", name, nil, keys, opts)
}

// NewOrderedIndex is [NewIndex] with the order of Go's operators, for ranges, see [Index.Ascend].
func NewOrderedIndex[I cmp.Ordered, K comparable, V any](
	m *Map[K, V], name string, keys func(key K, value V) []I, opts *IndexOptions,
) (*Index[I, K, V], error) {
	return newIndexOf(m, "NewOrderedIndex", name, naturalOrder(hasher.TypeOf((*I)(nil))), keys, opts)
}

// NewOrderedIndexFunc is [NewOrderedIndex] with an order by compare, see [NewOrderedFunc].
func NewOrderedIndexFunc[I, K comparable, V any](
	m *Map[K, V], name string, compare func(a, b I) int, keys func(key K, value V) []I,
	opts *IndexOptions,
) (*Index[I, K, V], error) {
	if compare == nil {
		panic("mvcc: NewOrderedIndexFunc: compare is nil")
	}
	return newIndexOf(m, "NewOrderedIndexFunc", name, orderBy(compare), keys, opts)
}

// check panics for a nil or zero Index.
func (ix *Index[I, K, V]) check() {
	if ix == nil || ix.m == nil {
		panic(errZeroIndex)
	}
}

// Name returns the name of the index.
func (ix *Index[I, K, V]) Name() string {
	ix.check()
	return ix.name
}

// Get returns an iterator over the records with the index key, and their keys, in the order of
// [Entry], as r sees them. Given the table itself, each loop opens a snapshot of its own.
//
// The loop may write to the transaction; it visits the same records nonetheless, with their values
// by then. The index key joins the read set, and so does each record visited: the transaction
// conflicts with one that gives the index key to a record or takes it away. It costs a search in a
// tree, or, with IndexOptions.Unique and without an order, a look into a table; and a Get for each
// record, of up to twelve before the first is visited, if r is no Tx. A loop allocates some small
// objects.
//
// An index key that is not equal to itself has no record. A step panics if r is not one of the
// index's table, or began before the index was complete; and as a read of r does.
func (ix *Index[I, K, V]) Get(r Reader[K, V], key I) iter.Seq2[K, V] {
	ix.check()
	return func(yield func(K, V) bool) {
		ix.records(r, stretch[I, K]{keys: From(key).UpTo(key), one: true}, yield)
	}
}

// First returns the first record of [Index.Get].
func (ix *Index[I, K, V]) First(r Reader[K, V], key I) (k K, v V, ok bool) {
	ix.check()
	e, v, ok := ix.end(r, stretch[I, K]{keys: From(key).UpTo(key), one: true})
	return e.Key, v, ok
}

// Ascend is [Index.Get] for all index keys in a range, from the lowest to the highest. A record
// with several of them comes once for each. The part of the range that the loop has gone through
// joins the read set. It panics if the index has no order.
func (ix *Index[I, K, V]) Ascend(r Reader[K, V], keys Range[I]) iter.Seq2[K, V] {
	of := ix.ranged(keys, nil, false)
	return func(yield func(K, V) bool) { ix.records(r, of, yield) }
}

// Descend is [Index.Ascend] from the highest index key to the lowest.
func (ix *Index[I, K, V]) Descend(r Reader[K, V], keys Range[I]) iter.Seq2[K, V] {
	of := ix.ranged(keys, nil, true)
	return func(yield func(K, V) bool) { ix.records(r, of, yield) }
}

// open returns how the tables of the index are read as r sees them. kind is that of the snapshot
// that it opens if r is the table.
func (ix *Index[I, K, V]) open(r Reader[K, V], kind uint64) (in window[K]) {
	switch r := r.(type) {
	case *Map[K, V]:
		ix.checkOf(r.at)
		in = window[K]{moment: r.at.snapshot(kind), own: true}
	case Snapshot[K, V]:
		r.check()
		ix.checkOf(r.st.engine())
		in = window[K]{moment: moment(r)}
	case Tx[K, V]:
		r.check()
		ix.checkOf(r.st.engine())
		extra, ok := DBTx(r).shareExtras()
		if !ok {
			ix.tooNew()
		}
		in = window[K]{moment: moment(r), tx: true, extra: extra}
	default:
		panic(fmt.Sprintf("mvcc: index %q: the reader is a %v, want a Map, Snapshot or Tx", ix.name,
			reflect.TypeOf(r))) // %T of r would keep it
	}
	// The load must follow the begin of the reader.
	if since := ix.since.Load(); since == 0 || in.Epoch() < since {
		in.closeOwn()
		ix.tooNew()
	}
	return in
}

func (ix *Index[I, K, V]) tooNew() {
	panic(fmt.Sprintf("mvcc: index %q was not complete when the snapshot or transaction began",
		ix.name))
}

func (ix *Index[I, K, V]) checkOf(e *engine) {
	if e != ix.m.at {
		panic(fmt.Sprintf("mvcc: index %q: the reader is not one of table %q", ix.name, ix.m.Name()))
	}
}

// A window is how the tables of an index are read: through the slot of a snapshot, or as part of a
// transaction.
type window[K comparable] struct {
	moment
	tx    bool               // it is a transaction
	own   bool               // it is a snapshot that was opened for this
	extra map[extraKey][]any // of it
}

// closeOwn closes the snapshot, if it was opened for this.
func (in *window[K]) closeOwn() {
	if in.own {
		in.Close()
	}
}
