package mvcc

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

func newIndexOf[I, K comparable, V any](m *Map[K, V], call, name string, compare func(a, b I) int,
	natural bool, keys func(K, V) []I, opts *IndexOptions) (*Index[I, K, V], error) {
	ix := makeIndex(m, call, name, compare, natural, keys, opts)
	done := false
	defer func() {
		if !done { // even if keys panics
			ix.Drop()
		}
	}()
	if err := ix.build(); err != nil {
		return nil, err
	}
	done = true
	return ix, nil
}

// makeIndex makes an index that nobody writes yet, and its table.
func makeIndex[I, K comparable, V any](m *Map[K, V], call, name string, compare func(a, b I) int,
	natural bool, keys func(K, V) []I, opts *IndexOptions) *Index[I, K, V] {
	m.check()
	switch {
	case inUpdate():
		panic(fmt.Sprintf("mvcc: %s: it is called in the function of an Update, which may run again", call))
	case m.db == nil:
		panic(fmt.Sprintf("mvcc: %s: the map is not a table: make it with mvcc.NewTable", call))
	case m.closed.Load():
		panic(fmt.Sprintf("mvcc: %s: table %q was closed", call, m.Name()))
	case name == "":
		panic(fmt.Sprintf("mvcc: %s: the name is empty", call))
	case keys == nil:
		panic(fmt.Sprintf("mvcc: %s: keys is nil", call))
	}
	if s := m.shared.strict; s != nil {
		if compare != nil && !natural {
			compare = strictCompare(s, compare)
		}
		of := keys
		keys = func(key K, value V) []I {
			return twice(s, "the function of index "+strconv.Quote(name), func() []I { return of(key, value) })
		}
	}
	ix := &Index[I, K, V]{m: m, name: name, keys: keys, ordered: compare != nil, natural: natural,
		ownIndex: newOwner[I](), ownKey: newOwner[K]()}
	table := m.Name() + "/" + name
	if opts != nil && opts.Unique {
		var by order
		if compare != nil {
			by = newTree(compare, natural, nil)
		}
		ix.unique = addTable[I, K](m.db, table, nil, by, true)
		ix.sound = ix.unique.plain
	} else {
		var byKey func(a, b K) int
		if m.order != nil {
			byKey = comparing[K](m.order)
		}
		ix.collation = newCollation(compare, byKey)
		// Not that of ix: the order is kept for as long as there is background work for it.
		ix.entries = addTable[entry[I, K], none](m.db, table, nil,
			newTree(ix.collation.compare, false, nil), true)
		ix.sound = ix.entries.plain
	}
	return ix
}

// alter announces another schema: see X2.
func (m *Map[K, V]) alter(f func(list []keptIndex) []keptIndex) {
	for {
		old := m.schema.Load()
		var list []keptIndex
		if old != nil {
			list = slices.Clone(old.indexes)
		}
		var altered *schema
		if list = f(list); len(list) > 0 {
			altered = &schema{list, putIndexed[K, V], altersIndexed[K, V]}
		}
		hooks.Before(hooks.Write, unsafe.Pointer(&m.schema))
		if m.schema.CompareAndSwap(old, altered) {
			return
		}
	}
}

// passLocks returns when nobody holds the lock of a bucket any more that had it when
// passLocks was called.
func (x *index) passLocks() {
	for t := x.table.Load(); ; {
		for i := range t.buckets {
			if b := &t.buckets[i]; b.lock() {
				b.unlock()
			}
		}
		next := x.after(t) // even if t has been replaced meanwhile
		if next == t {
			return
		}
		t = next
	}
}

// build writes the index. It returns an error if it was to be unique and is not.
func (ix *Index[I, K, V]) build() (err error) {
	x := ix.m.index
	ix.m.alter(func(list []keptIndex) []keptIndex { return append(list, ix) })
	hooks.At(hooks.SchemaAnnounced)
	x.passLocks()
	batch := make([]K, 0, buildBatch)
	x.scan(func(_ place, head *node) bool {
		if batch = append(batch, keyOf[K](head)); len(batch) == cap(batch) {
			err = ix.write(batch)
			batch = batch[:0]
		}
		return err == nil
	})
	if err == nil && len(batch) > 0 {
		err = ix.write(batch)
	}
	// An epoch that nobody reads at yet.
	ix.since.Store(uint64(ix.m.slots.Next()))
	ix.m.counters.wasted.Add(1)
	return err
}

// buildBatch is how many records NewIndex writes in one transaction: it repeats them if one
// of them was written meanwhile.
const buildBatch = 64

// write writes the entries of some keys of the table, and each key itself, as it is: including
// those that have no value, for a writer may be about to give them one.
func (ix *Index[I, K, V]) write(batch []K) error {
	opts := &TxOptions{Isolation: LevelSerializable, MaxAttempts: math.MaxInt, own: true}
	return ix.m.db.Update(background, opts, func(db DBTx) error {
		tx := ix.m.inside(db)
		s := tx.st.schemaFor()
		if s == nil || !slices.Contains(s.indexes, keptIndex(ix)) {
			return nil // it was dropped
		}
		var no V
		for _, key := range batch {
			value, has := tx.get(key, false)
			key = asWritten(tx.st, key)
			change := ix.change(key, no, false, key, value, has)
			v := newNode(key, value)
			if !has {
				v = tombstoneOf[K, V](key)
			}
			tx.st.put(v)
			if change != nil {
				change(db)
			}
		}
		return nil
	})
}

// Drop removes the index from its table, at once: it is written no more, and reading it panics.
// Transactions that were under way, and have read the index or written to the table, conflict once.
// Its name is free. A second Drop does nothing.
func (ix *Index[I, K, V]) Drop() {
	ix.check()
	if ix.dropped().Swap(true) { // must precede: readers of the index validate that
		return
	}
	ix.m.alter(func(list []keptIndex) []keptIndex {
		return slices.DeleteFunc(list, func(o keptIndex) bool { return o == keptIndex(ix) })
	})
	ix.close()
}

func (ix *Index[I, K, V]) dropped() *atomic.Bool {
	if ix.unique != nil {
		return &ix.unique.dropped
	}
	return &ix.entries.dropped
}
