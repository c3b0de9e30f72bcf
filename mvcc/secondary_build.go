package mvcc

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync/atomic"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/hasher"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

func newIndexOf[I, K comparable, V any](m *Map[K, V], call, name string, by *order,
	keys func(K, V) []I, opts *IndexOptions) (*Index[I, K, V], error) {
	ix := makeIndex(m, call, name, by, keys, opts)
	done := false
	defer func() {
		if !done { // even if keys panics
			ix.drop()
		}
	}()
	if err := ix.build(); err != nil {
		return nil, ix.allPairs(err)
	}
	done = true
	return ix, nil
}

// makeIndex makes an index that nobody writes yet, and its table.
func makeIndex[I, K comparable, V any](m *Map[K, V], call, name string, by *order,
	keys func(K, V) []I, opts *IndexOptions) *Index[I, K, V] {
	e := m.engine()
	e.checkIndex(call, name)
	if keys == nil {
		panic(fmt.Sprintf("mvcc: %s: keys is nil", call))
	}
	if s := e.strict(); s != nil {
		if by != nil {
			h := hasher.New[I]()
			by = by.strictly(s, &h)
		}
		of := keys
		keys = func(key K, value V) []I {
			return twiceAs(s, "the function of index "+strconv.Quote(name), sameKeys,
				func() []I { return of(key, value) })
		}
	}
	ix := &Index[I, K, V]{m: m, name: name, keys: keys, order: by,
		ownIndex: newOwner[I](), ownKey: newOwner[K](), collation: newCollation[I, K](by, e.order())}
	table := m.Name() + "/" + name
	if opts != nil && opts.Unique {
		ix.unique = newInner[I, K](e, table, by)
		ix.table, ix.sound = ix.unique.at, ix.unique.plain
	} else {
		ix.entries = newInner[entry[I, K], none](e, table, ix.collation.order())
		ix.table, ix.sound = ix.entries.at, ix.entries.plain
	}
	return ix
}

// alter announces another schema: see X2.
//
//go:noinline
func (e *engine) alter(by schema, f func(list []keptIndex) []keptIndex) {
	m := coreAt(e)
	for {
		old := m.schema.Load()
		var list []keptIndex
		if old != nil {
			list = slices.Clone(old.indexes)
		}
		var altered *schema
		if list = f(list); len(list) > 0 {
			altered = &schema{list, by.put, by.alters}
		}
		hooks.Before(hooks.Write, unsafe.Pointer(&m.schema))
		if m.schema.CompareAndSwap(old, altered) {
			return
		}
	}
}

// alter announces another schema of the table of the index.
func (ix *Index[I, K, V]) alter(f func(list []keptIndex) []keptIndex) {
	ix.m.at.alter(schema{put: putIndexed[K, V], alters: altersIndexed[K, V]}, f)
}

// checkIndex panics if no index of that name can be made. It does not look for one that exists.
//
//go:noinline
func (e *engine) checkIndex(call, name string) {
	m := coreAt(e)
	switch {
	case inUpdate():
		panic(fmt.Sprintf("mvcc: %s: it is called in the function of an Update, which may run again", call))
	case m.db == nil:
		panic(fmt.Sprintf("mvcc: %s: the map is not a table: make it with mvcc.NewTable", call))
	case m.closed.Load():
		panic(fmt.Sprintf("mvcc: %s: table %q was closed", call, m.counters.name))
	case name == "":
		panic(fmt.Sprintf("mvcc: %s: the name is empty", call))
	}
}

// addInner adds a table of an index.
//
//go:noinline
func (e *engine) addInner(name string, by *order, types *recordType) *engine {
	return addTable(coreAt(e).db, name, nil, by, types, true)
}

// draw draws an epoch that nobody reads at yet.
//
//go:noinline
func (e *engine) draw() uint64 {
	m := coreAt(e)
	m.counters.Wasted.Add(1)
	return uint64(m.Slots.Next())
}

// updateAll is [DB.Update].
//
//go:noinline
func (e *engine) updateAll(opts *TxOptions, fn func(tx DBTx) error) error {
	return coreAt(e).db.Update(background, opts, fn)
}

// dropped returns the flag that says that the table is of an index that could not be made.
//
//go:noinline
func (e *engine) dropped() *atomic.Bool { return &coreAt(e).dropped }

// usesSchema has the transaction use the schema that its table has now.
//
//go:noinline
func (tx DBTx) usesSchema() { partOf(tx.st).schemaFor() }

// build writes the index. It returns an error if it is to be unique, and the records are not.
func (ix *Index[I, K, V]) build() (err error) {
	x := ix.m.index
	ix.alter(func(list []keptIndex) []keptIndex { return append(list, ix) })
	hooks.At(hooks.SchemaAnnounced)
	x.PassLocks()
	batch := make([]K, 0, buildBatch)
	x.Scan(func(_ index.Place, head *chain.Node) bool {
		if batch = append(batch, chain.KeyOf[K](head)); len(batch) == cap(batch) {
			err = ix.write(batch)
			batch = batch[:0]
		}
		return err == nil
	})
	if err == nil && len(batch) > 0 {
		err = ix.write(batch)
	}
	if err == nil {
		ix.since.Store(ix.m.at.draw())
	}
	return err
}

// buildBatch is how many records NewIndex writes in one transaction: the transaction is repeated if
// one of them is written meanwhile.
const buildBatch = 64

// write writes the entries of some keys of the table, and each key again as it is: even a key
// without a value, since a writer may be about to give it one.
func (ix *Index[I, K, V]) write(batch []K) error {
	return ix.m.at.updateAll(forLibrary(always), func(db DBTx) error {
		tx := ix.m.inside(db)
		DBTx(tx).usesSchema()
		var no V
		for _, key := range batch {
			value, has := getIn[K, V](DBTx(tx), key, false)
			key = asWritten(tx.st, key, true)
			change := ix.change(key, no, false, key, value, has)
			v := chain.New(key, value)
			if !has {
				v = tombstoneOf[K, V](key)
			}
			DBTx(tx).buffer(v)
			if change != nil {
				change(db)
			}
		}
		return nil
	})
}

// drop removes the index, which could not be made, from its table: nobody writes it any more, and
// its name is free. Transactions under way that have written to the table conflict once.
func (ix *Index[I, K, V]) drop() {
	ix.dropped().Store(true) // must precede: notUnique looks at it after a breach of its rule
	ix.alter(func(list []keptIndex) []keptIndex {
		return slices.DeleteFunc(list, func(o keptIndex) bool { return o == keptIndex(ix) })
	})
	ix.close()
}

func (ix *Index[I, K, V]) dropped() *atomic.Bool { return ix.table.dropped() }

// An inner is a table of an index. It is no Map, since all methods of a Map would be compiled.
type inner[K comparable, V any] struct {
	at    *engine // nil if there is no such table
	plain bool    // k == k for every key
}

// newInner adds a table to the database of e.
func newInner[K comparable, V any](e *engine, name string, by *order) inner[K, V] {
	at := e.addInner(name, by, innerTypeOf[K, V]())
	return inner[K, V]{at, at.plain()}
}

// get returns the value of key as seen by in: a snapshot, or if tx is set a transaction.
func (t inner[K, V]) get(in moment, tx bool, key K) (value V, ok bool) {
	if tx {
		return getIn[K, V](t.at.inside(DBTx(in)), key, false)
	}
	s := t.at.through(in)
	_, _, head := index.Lookup(s.st.index, key)
	return chain.Present[K, V](s.seenOf(head, unsafe.Pointer(&key)))
}

// set and remove are writes in a transaction.
func (t inner[K, V]) set(tx DBTx, key K, value V) {
	setIn(t.at.inside(tx), key, value, 0)
}

func (t inner[K, V]) remove(tx DBTx, key K) {
	var zero V
	setIn(t.at.inside(tx), key, zero, chain.TombBit)
}

func (ix *Index[I, K, V]) named() string { return ix.name }

func (ix *Index[I, K, V]) describe() (key reflect.Type, table *engine, unique, ordered bool) {
	return hasher.TypeOf((*I)(nil)), ix.table, ix.unique.at != nil, ix.order != nil
}

func (ix *Index[I, K, V]) distinct(most int) (n int) {
	if ix.since.Load() == 0 {
		return -1
	}
	defer func() {
		if recover() != nil { // compare may panic
			n = -1
		}
	}()
	for range ix.Keys(ix.m, Range[I]{}) {
		if n++; n == most {
			break
		}
	}
	return n
}

// close closes the table of the index.
func (ix *Index[I, K, V]) close() { ix.table.close() }

func (ix *Index[I, K, V]) clear(tx DBTx) { ix.table.inside(tx).deleteAll() }

func (ix *Index[I, K, V]) change(
	before K, old V, had bool, key K, value V, has bool,
) func(tx DBTx) {
	var was, is []I
	if had {
		was = ix.keys(before, old)
	}
	if has {
		is = ix.keys(key, value)
	}
	if slices.Equal(was, is) && ix.sound {
		return nil
	}
	gone, come := without(was, is), without(is, was)
	for _, index := range come {
		if !equal(index, index) { // panics for a key that cannot be compared
			panic(ErrBadKey)
		}
	}
	if len(gone)+len(come) == 0 {
		return nil
	}
	return func(tx DBTx) {
		for _, index := range gone {
			ix.remove(tx, index, key)
		}
		for _, index := range come {
			ix.add(tx, index, key)
		}
	}
}

// without returns the index keys of list that are not in other, once each.
func without[I comparable](list, other []I) (rest []I) {
	if len(list)+len(other) > fewIndexKeys {
		not := make(map[I]struct{}, len(list)+len(other))
		for _, index := range other {
			not[index] = struct{}{}
		}
		return slices.DeleteFunc(slices.Clone(list), func(index I) bool { return repeated(not, index) })
	}
	for i, index := range list {
		if !slices.Contains(other, index) && !slices.Contains(list[:i], index) {
			rest = append(rest, index)
		}
	}
	return rest
}

// fewIndexKeys is the most index keys that are compared one by one.
const fewIndexKeys = 32

// add gives the record the index key, unless the record has it.
func (ix *Index[I, K, V]) add(tx DBTx, index I, key K) {
	index, key = ix.ownIndex.own(index), ix.ownKey.own(key)
	if ix.unique.at == nil {
		ix.entries.set(tx, entryOf(ix.collation, index, key), none{})
		return
	}
	switch owner, ok := ix.unique.get(moment(tx), true, index); {
	case !ok:
		ix.unique.set(tx, index, key)
	case owner != key:
		tx.extras().add(extraKey{ix, index}, key)
	}
}

// remove takes the index key from the record, if the record has it.
func (ix *Index[I, K, V]) remove(tx DBTx, index I, key K) {
	if ix.unique.at == nil {
		ix.entries.remove(tx, entryOf(ix.collation, index, key))
		return
	}
	extra, at := tx.extras(), extraKey{ix, index}
	if extra.remove(at, key) {
		return
	}
	if owner, ok := ix.unique.get(moment(tx), true, index); !ok || owner != key {
		return // the index is being made
	}
	if all := extra.of[at]; len(all) > 0 {
		ix.unique.set(tx, ix.ownIndex.own(index), all[0].(K))
		extra.remove(at, all[0])
	} else {
		ix.unique.remove(tx, index)
	}
}

// none is the type of the values in a table of entries.
type none = struct{}
