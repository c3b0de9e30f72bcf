package etcd

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A Schema is the tables and indexes of a database, which are declared before it is opened. Use
// [NewSchema].
type Schema struct {
	db      *mvcc.DB
	observe func(mvcc.Attempt)
	around  func(ctx context.Context, tx, table string) (inside context.Context, after func())

	mu     sync.Mutex
	opened bool
	tables map[string]table
	broken broken
	// applied is that of the replica, before Open too, for watches.
	applied *applied
}

// NewSchema returns a schema without tables. opts may be nil; they are those of the local tables,
// of which Capacity, the Reclaim fields, Retain, Logger, PinWarnAge, TracePins, Observe and Around
// have a meaning, the last two for [DB.Update]. Transactions are serializable. It panics if Strict
// is set, which is for databases that commit by themselves; if MaxTxAge is, since commits from etcd
// are applied in transactions as well, and must not be given up because they take long (PinWarnAge
// and TracePins tell of readers that do); and if ManualReclaim is, since a replica has no Reclaim
// to call.
func NewSchema(opts *mvcc.Options) *Schema {
	s := &Schema{tables: map[string]table{}, applied: newApplied()}
	if opts != nil {
		s.observe, s.around = opts.Observe, opts.Around
		switch {
		case opts.Strict:
			panic("etcd: NewSchema: Options.Strict is set, and transactions are committed by etcd")
		case opts.MaxTxAge != 0:
			panic(fmt.Sprintf("etcd: NewSchema: Options.MaxTxAge is %v, want 0: a commit that takes long to "+
				"apply would be lost", opts.MaxTxAge))
		case opts.ManualReclaim:
			panic("etcd: NewSchema: Options.ManualReclaim is set, and a replica has no Reclaim to call")
		}
	}
	s.db = mvcc.NewDB(opts)
	return s
}

// open says that the schema is complete.
func (s *Schema) open() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened {
		return fmt.Errorf("etcd: Open: the schema was opened before: make another one")
	}
	s.opened = true
	return nil
}

// reopen says that the schema may be opened after all: nothing was loaded.
func (s *Schema) reopen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = false
}

// declare calls f, which adds to the schema.
func (s *Schema) declare(call string, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened {
		panic("etcd: " + call + ": the schema is open: declare tables and indexes before Open")
	}
	f()
}

// NewIndex declares an index of a table, see [mvcc.NewIndex]. Each process makes it for itself. It
// is read with [Table.In] or [Table.At]. A transaction that reads an index key, or gives it to a
// record where the index is unique, conflicts with those that give it to a record, or take it away,
// and with about one in 65,536 of those that do so with another one. That holds for keys of
// strings, integers, floats, bools, and arrays and structs of these, and among processes whose
// tables have the same indexes. In other cases, and where it reads a range of the index, or very
// many index keys, it conflicts with all that write to the table meanwhile. A commit that changes
// more index keys than fit into a request conflicts with all that read any index key of the table.
//
// keys must return the same in all processes, for the value as it is once it was encoded and
// decoded: an Update that finds otherwise returns a [*CodecError], and a replica that does fails
// with an [*IndexError]. An index with another function has another name. Drop must not be called.
func NewIndex[I, K comparable, V any](
	t *Table[K, V], name string, keys func(key K, value V) []I, opts *mvcc.IndexOptions,
) (ix *mvcc.Index[I, K, V], err error) {
	return newIndex(t, "NewIndex", name, keys, opts, mvcc.NewIndex[I, K, V])
}

// NewOrderedIndex is [NewIndex] for an index with an order, see [mvcc.NewOrderedIndex].
func NewOrderedIndex[I cmp.Ordered, K comparable, V any](
	t *Table[K, V], name string, keys func(key K, value V) []I, opts *mvcc.IndexOptions,
) (ix *mvcc.Index[I, K, V], err error) {
	return newIndex(t, "NewOrderedIndex", name, keys, opts, mvcc.NewOrderedIndex[I, K, V])
}

// newIndex makes the local index, and has the table put guards.
func newIndex[I, K comparable, V any](
	t *Table[K, V], call, name string, keys func(key K, value V) []I, opts *mvcc.IndexOptions,
	local func(*mvcc.Map[K, V], string, func(K, V) []I, *mvcc.IndexOptions) (*mvcc.Index[I, K, V], error),
) (ix *mvcc.Index[I, K, V], err error) {
	t.schema.declare(call, func() {
		if ix, err = local(t.m, name, keys, opts); err != nil {
			return
		}
		t.indexes[name] = index{name, stableShape(reflect.TypeFor[I]())}
		t.inClass = classOf(t.indexes)
		t.kept = append(t.kept, func(key K, before, after V) string {
			was, is := keys(key, before), keys(key, after)
			if slices.Equal(was, is) {
				return ""
			}
			for _, one := range slices.Concat(was, is) {
				if !slices.Contains(was, one) || !slices.Contains(is, one) {
					return name
				}
			}
			return ""
		})
	})
	return ix, err
}
