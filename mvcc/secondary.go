package mvcc

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/internal/engine/hasher"
)

// An Index finds the records of a table by index keys of type I, which a function makes of each
// record: exactly the records that a snapshot or transaction sees in the table. Use [NewIndex] or
// [NewOrderedIndex]. Any number of goroutines may use it.
type Index[I, K comparable, V any] struct {
	_ noCopy

	m     *Map[K, V]
	name  string
	keys  func(key K, value V) []I
	sound bool   // i == i for every index key i
	order *order // of index keys, nil if they have none
	// ownIndex and ownKey copy keys of the index's tables, which outlast a record's value.
	ownIndex owner[I]
	ownKey   owner[K]
	*collation
	// The table of the index. A unique index has only unique, from index keys to keys of records;
	// any other index has only entries.
	unique  inner[I, K]
	entries inner[entry[I, K], none]
	table   *engine // the one of the two that there is

	since atomic.Uint64 // the epoch from which on the index is right, 0 before
}

// IndexOptions configures an index.
type IndexOptions struct {
	// Unique: no two records may have the same index key, see [UniqueError].
	Unique bool

	_ struct{}
}

// NewIndex makes an index, without an order, of the table m. keys returns the index keys of a
// record, or none; a repeated one counts once. It must return the same for the same record, not use
// the database, and not change its arguments. Each write of a record calls it, for the old value
// and the new one. NewIndex panics if m is not a table, if the name is empty or taken, or in the
// function of an Update.
//
// The table may be in use. NewIndex writes the index, and every record again, in small
// transactions, and returns when it is complete. Transactions under way may conflict, once.
// Transactions and snapshots that began before it returned cannot read the index. It returns a
// [*UniqueError], and no index, if the index is to be unique and the records are not.
//
// A write of a record reads the old record first: so [Tx.Set], [Tx.Delete] and [Tx.Merge] are reads
// of the key as well. A write that changes index keys conflicts with transactions that have
// searched for one of them, or read a range with one.
//
// One-key operations like [Map.Store] are transactions then, and cost as much, or two calls of keys
// more if no index key changes. They panic with a *UniqueError where [Map.Put] and [Map.Update]
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
// [Entry], as r sees them. If r is the table itself, each loop opens a snapshot of its own.
//
// The loop may write to the transaction; it still visits the same records, with their values by
// then. The index key joins the read set, and so does each record visited: the transaction
// conflicts with one that gives the index key to a record or takes it away. A loop costs a search
// in a tree (with IndexOptions.Unique and without an order, in a hash table), and a Get for each
// record; unless r is a Tx, it gets up to twelve records before it visits the first. It allocates
// some small objects.
//
// An index key that is not equal to itself has no record. A step panics if r is no reader of the
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
// with several such index keys comes once for each. The part of the range that the loop has gone
// through joins the read set. Ascend panics if the index has no order.
func (ix *Index[I, K, V]) Ascend(r Reader[K, V], keys Range[I]) iter.Seq2[K, V] {
	of := ix.ranged(keys, nil, false)
	return func(yield func(K, V) bool) { ix.records(r, of, yield) }
}

// Descend is [Index.Ascend] from the highest index key to the lowest.
func (ix *Index[I, K, V]) Descend(r Reader[K, V], keys Range[I]) iter.Seq2[K, V] {
	of := ix.ranged(keys, nil, true)
	return func(yield func(K, V) bool) { ix.records(r, of, yield) }
}

// open returns the window that reads the tables of the index as r sees them. If r is the table, it
// opens a snapshot of the given kind.
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
	own   bool               // it is a snapshot that open has opened
	extra map[extraKey][]any // of the transaction
}

// closeOwn closes the snapshot, if open has opened it.
func (in *window[K]) closeOwn() {
	if in.own {
		in.Close()
	}
}

// Answers of an index that read no record: so a transaction conflicts only with changes of the
// index.

// Has reports whether [Index.Get] would find a record. It reads no record.
func (ix *Index[I, K, V]) Has(r Reader[K, V], key I) bool {
	ix.check()
	in := ix.open(r, forCall)
	defer in.closeOwn()
	_, ok := ix.endIn(in, &stretch[I, K]{keys: From(key).UpTo(key), one: true})
	runtime.KeepAlive(in.st)
	return ok
}

// Len is [Index.Count] of all entries. If r is the table itself it reads a counter, as [Map.Len]
// does.
func (ix *Index[I, K, V]) Len(r Reader[K, V]) int {
	ix.check()
	if m, ok := r.(*Map[K, V]); ok {
		ix.checkOf(m.at)
		return ix.table.len()
	}
	return ix.Count(r, Range[I]{})
}

// Count returns the number of entries with index keys in the range, as r sees the index. It walks
// over these entries, a few nanoseconds for each, and allocates some small objects. The range joins
// the read set. If the index has no order, the range is all index keys, Range[I]{}, or one,
// From(key).UpTo(key).
func (ix *Index[I, K, V]) Count(r Reader[K, V], keys Range[I]) (n int) {
	of := ix.part(keys)
	in := ix.open(r, forCall)
	defer in.closeOwn()
	switch {
	case ix.empty(&of):
	case ix.unique.at == nil:
		var c chunk
		ix.alongEntries(&c, in, &of, func() bool { n += c.n; return true })
	default:
		ix.walk(in, &of, func(I, K) bool { n++; return true })
	}
	runtime.KeepAlive(in.st)
	return n
}

// Keys returns an iterator over the index keys in the range that some record has, as r sees the
// table: each once, in their order if the index has one. An index key with many records costs a
// search in a tree, any other as in [Index.Ascend]. The first entries of each index key, and all
// that lies between two index keys, join the read set. For the range see [Index.Count].
func (ix *Index[I, K, V]) Keys(r Reader[K, V], keys Range[I]) iter.Seq[I] {
	of := ix.part(keys)
	return func(yield func(I) bool) {
		in := ix.open(r, forProgram)
		defer in.closeOwn()
		any, last, equal, c := false, of.keys.low.key, 0, chunk{}
		isNew := func(index I) bool {
			if any && index == last {
				equal++
				return false
			}
			any, last, equal = true, index, 0
			return true
		}
		if ix.unique.at != nil || ix.empty(&of) {
			ix.walk(in, &of, func(index I, _ K) bool { return !isNew(index) || yield(index) })
			return
		}
		part := ix.entryRange(&of)
		within := spanOf(&part)
		ix.entries.at.along(&c, in.moment, in.tx, &within, false, func() bool {
			for _, v := range c.found[:c.n] {
				switch index := (*entry[I, K])(v.Key()).index; {
				case isNew(index):
					if !yield(index) {
						return false
					}
				case equal == manyEqual:
					rest := From(edgeOf[I, K](ix.collation, index, +1))
					rest.high = part.high
					further := spanOf(&rest)
					c.jump = &further
					return false
				}
			}
			return true
		})
		runtime.KeepAlive(in.st)
	}
}

// manyEqual is after how many entries of one index key Keys searches the tree for the next key.
const manyEqual = 32
