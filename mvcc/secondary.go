package mvcc

import (
	"cmp"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/internal/hasher"
)

// An Index finds the records of a table by something that is in them: by index keys of type
// I, which a function makes of each record. It is always right: a snapshot or transaction
// that reads it finds exactly the records that it sees in the table. Use [NewIndex] or
// [NewOrderedIndex]. Methods of an Index may be called by any number of goroutines.
type Index[I, K comparable, V any] struct {
	_ noCopy

	m     *Map[K, V]
	name  string
	keys  func(key K, value V) []I
	sound bool   // i == i for every index key i
	order *order // of index keys, nil if they have none
	// Of what its tables keep, which stays when a record is overwritten.
	ownIndex owner[I]
	ownKey   owner[K]
	*collation
	// What the index consists of: of a unique one the key of the record by its index key,
	// else entries.
	unique  inner[I, K]
	entries inner[entry[I, K], none]
	table   *engine // that which there is

	since atomic.Uint64 // the epoch from which on the index is right, 0 before
}

// IndexOptions configures an index. A nil *IndexOptions means the default.
type IndexOptions struct {
	// Unique says that no two records may have the same index key. A transaction that would
	// commit two fails with a [*UniqueError].
	Unique bool

	_ struct{}
}

// NewIndex makes an index of the table m. The index has no order. keys returns the index keys of a
// record: none if the index is not to find it; an index key that is there twice counts once. keys
// must return the same for the same record, must not use the database, and must not change what it
// is given. Each write of a record calls it, for the old value and the new one. name is one that
// no other index of the table has. opts may be nil. NewIndex panics if m is not a table, see
// [NewTable], if the name is empty or taken, or in the function of an Update, which may run again.
//
// The table may be in use, and may have any number of records. NewIndex writes the index in small
// transactions, while readers and writers go on, and returns when it is complete. These write
// every record again, as it is, so transactions that were under way when it was called may
// conflict, once. Snapshots and transactions that began before it returned cannot read the index.
// NewIndex returns a [*UniqueError], and no index, if the index is to be unique and the records
// are not.
//
// # What writing costs
//
// A write of a record of a table with indexes reads the old record first. So [Tx.Set], [Tx.Delete]
// and [Tx.Merge] are reads of the key as well: the transaction conflicts if another one writes the
// record meanwhile. Where index keys have changed, it writes entries too. Then it conflicts with
// transactions that have searched for such an index key, or have been through a range that has it.
//
// One-key operations like [Map.Store] are transactions then, and cost as much. One that changes no
// index key costs what it costs without an index, and two calls of keys. These operations have no
// error to return. They panic with a [*UniqueError] if the index is unique and would not be.
// [Map.Put] is Store with an error, and [Map.Update] does what the others do, and returns one.
// Functions given to [Map.Compute] and
// the like may be called once more. [Map.Clear] clears the indexes as well.
//
// Reading the table costs nothing more. An entry takes about as much memory as a key of an ordered
// table. [DB.Stats] counts an index as a table.
func NewIndex[I, K comparable, V any](
	m *Map[K, V], name string, keys func(key K, value V) []I, opts *IndexOptions,
) (*Index[I, K, V], error) {
	return newIndexOf(m, "NewIndex", name, nil, keys, opts)
}

// NewOrderedIndex is [NewIndex] for an index whose keys have an order, that of Go's operators:
// records can be found by ranges as well, see [Index.Ascend].
func NewOrderedIndex[I cmp.Ordered, K comparable, V any](
	m *Map[K, V], name string, keys func(key K, value V) []I, opts *IndexOptions,
) (*Index[I, K, V], error) {
	return newIndexOf(m, "NewOrderedIndex", name, naturalOrder(hasher.TypeOf((*I)(nil))), keys, opts)
}

// NewOrderedIndexFunc is [NewOrderedIndex] with an order of one's own, see [NewOrderedFunc] for
// what compare has to be.
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

// Get returns an iterator over the records with the index key, and their keys, as r sees them. r
// is a [Snapshot] or [Tx] of the table, or the table itself: then each loop opens a snapshot of
// its own. Those of a Tx include what it has written. Records of the same index key come in the
// order of their keys, see [Entry].
//
// The loop may write to the transaction. It visits the same records nonetheless, with the value
// that they have by then. At level serializable the index key joins the read set: the transaction
// conflicts with one that gives it to a record or takes it away. Each record visited joins it as
// well. Get costs a search in a tree, or, with [IndexOptions.Unique] and without an order, a look
// into a table; and a Get for each record. A loop allocates some small objects.
//
// No record has an index key that is not equal to itself. A step panics if r is not one of the
// index's table, or if r began before the index was complete; and as a read of r does.
func (ix *Index[I, K, V]) Get(r Reader[K, V], key I) iter.Seq2[K, V] {
	ix.check()
	return ix.records(r, stretch[I, K]{keys: From(key).UpTo(key), one: true})
}

// First returns the first record with the index key, and its key: that of [Index.Get].
func (ix *Index[I, K, V]) First(r Reader[K, V], key I) (k K, v V, ok bool) {
	ix.check()
	e, v, ok := ix.end(r, stretch[I, K]{keys: From(key).UpTo(key), one: true})
	return e.Key, v, ok
}

// Ascend returns an iterator over the records whose index keys are in the range, from the
// lowest to the highest, see [Index.Get]. A record with several index keys in the range comes
// once for each. At level serializable the part of the range that the loop has gone through
// joins the read set. It panics if the index has no order.
func (ix *Index[I, K, V]) Ascend(r Reader[K, V], keys Range[I]) iter.Seq2[K, V] {
	return ix.records(r, ix.ranged(keys, nil, false))
}

// Descend is [Index.Ascend] from the highest index key to the lowest.
func (ix *Index[I, K, V]) Descend(r Reader[K, V], keys Range[I]) iter.Seq2[K, V] {
	return ix.records(r, ix.ranged(keys, nil, true))
}

// open returns how the tables of the index are read as r sees them, and the records. kind is that of
// the snapshot that it opens if r is the table.
func (ix *Index[I, K, V]) open(r Reader[K, V], kind uint64) (in window[K], by Reader[K, V]) {
	by = r
	switch r := r.(type) {
	case *Map[K, V]:
		ix.checkOf(r.at)
		s := Snapshot[K, V](r.at.snapshot(kind))
		in, by = window[K]{moment: moment(s), own: true}, s
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
		panic(fmt.Sprintf("mvcc: index %q: the reader is a %T, want a Map, Snapshot or Tx", ix.name, r))
	}
	if since := ix.since.Load(); since == 0 || by.Epoch() < since { // must follow the begin of the reader
		in.closeOwn()
		ix.tooNew()
	}
	return in, by
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
