package mvcc

import (
	"fmt"
	"iter"
	"runtime"
	"sort"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// How reads by an index find the records.

// A stretch is a part of an index: the entries whose index keys are in keys and that, unless after
// is nil, come behind after. With after the loop goes upwards.
type stretch[I, K comparable] struct {
	keys  Range[I]
	after *Entry[I, K]
	down  bool
	one   bool // keys has one index key
}

// ranged returns a stretch of an index that must have an order. after is copied.
func (ix *Index[I, K, V]) ranged(keys Range[I], after *Entry[I, K], down bool) stretch[I, K] {
	ix.check()
	ix.checkOrdered(keys.prefix)
	if after != nil {
		e := *after
		after = &e
	}
	return stretch[I, K]{keys: keys, after: after, down: down}
}

func (ix *Index[I, K, V]) checkOrdered(prefix bool) {
	if ix.order == nil {
		panic(fmt.Sprintf("mvcc: index %q has no order: make it with mvcc.NewOrderedIndex", ix.name))
	}
	if prefix && !ix.order.natural {
		panic(errPrefix)
	}
}

// part returns the stretch of keys: all index keys or one, or it panics if the index has no order.
func (ix *Index[I, K, V]) part(keys Range[I]) stretch[I, K] {
	ix.check()
	low, high := &keys.low, &keys.high
	one := low.kind == inclusive && high.kind == inclusive &&
		(low.key == high.key || low.key != low.key && high.key != high.key)
	if !one && low.kind|high.kind != open {
		ix.checkOrdered(keys.prefix)
	}
	return stretch[I, K]{keys: keys, one: one}
}

// empty reports whether a stretch has one index key, which is not equal to itself.
func (ix *Index[I, K, V]) empty(of *stretch[I, K]) bool {
	return of.one && !ix.sound && !equal(of.keys.low.key, of.keys.low.key)
}

// records visits the records of a stretch, as r sees them. Neither r nor yield escapes from records
// and its calls: so where a method that returns an iterator is inlined, the compiler allocates
// neither the loop's function nor its variables.
//
//go:noinline
func (ix *Index[I, K, V]) records(r Reader[K, V], of stretch[I, K], yield func(K, V) bool) {
	ix.loop(r, &of, func(e Entry[I, K], value V) bool { return yield(e.Key, value) })
}

// loop visits the records of a stretch, as r sees them.
func (ix *Index[I, K, V]) loop(
	r Reader[K, V], of *stretch[I, K], visit func(e Entry[I, K], value V) bool,
) {
	in := ix.open(r, forProgram)
	defer in.closeOwn()
	if in.tx || ix.unique.at != nil {
		ix.walk(in, of, func(index I, key K) bool {
			value, ok := ix.record(in, key)
			return !ok || visit(Entry[I, K]{index, asWritten(in.st, key, in.tx)}, value)
		})
	} else if !ix.empty(of) {
		ix.loopSeen(in, of, func(e *entry[I, K], record *chain.Node) bool {
			value, ok := chain.Present[K, V](record)
			return !ok || visit(Entry[I, K]{e.index, chain.KeyOf[K](record)}, value)
		})
	}
	runtime.KeepAlive(in.st)
}

// alongEntries visits the entries of a stretch of an index that is not unique.
func (ix *Index[I, K, V]) alongEntries(
	c *chunk, in window[K], of *stretch[I, K], visit func() bool,
) {
	part := ix.entryRange(of)
	within := spanOf(&part)
	ix.entries.at.along(c, in.moment, in.tx, &within, of.down, visit)
}

// loopSeen visits the entries of a stretch, with the versions of their records that a snapshot
// sees: by X1 these have values. It looks up several records before it visits the first: a snapshot
// sees the same version whenever it looks.
func (ix *Index[I, K, V]) loopSeen(
	in window[K], of *stretch[I, K], visit func(e *entry[I, K], record *chain.Node) bool,
) {
	part := ix.entryRange(of)
	within := spanOf(&part)
	var c chunk
	ix.entries.at.through(in.moment).ranged(&c, &within, of.down, func() bool {
		for from := 0; from < c.n; from += recordBatch {
			var records [recordBatch]*chain.Node
			entries := c.found[from:min(from+recordBatch, c.n)]
			in.lookup(entries, ix.keyAt, &records)
			for i, v := range entries {
				if !visit((*entry[I, K])(v.Key()), records[i]) {
					return false
				}
				c.check()
			}
		}
		return true
	})
}

// recordBatch is how many records a loop over an index looks up at once: enough for the processor
// to wait for several at a time, and not too many for a loop that is left at once.
const recordBatch = 12

// lookup sets records to the versions, as the snapshot sees them, of the records of some entries.
// An entry has its record's key keyAt bytes behind its own. No step waits for another key: so the
// processor loads the buckets of all keys at once, and then the versions. (An entry does not note
// its record's place: this would save no load, and keep outgrown tables alive.)
//
//go:noinline
func (s moment) lookup(entries []*chain.Node, keyAt uintptr, records *[recordBatch]*chain.Node) {
	p := partOf(s.st)
	x, at := p.index, p.st.epoch()
	var hashes [recordBatch]uint64
	for i, v := range entries {
		hashes[i] = x.Ahead(unsafe.Add(v.Key(), keyAt))
	}
	for i, v := range entries {
		records[i] = x.Likely(hashes[i], unsafe.Add(v.Key(), keyAt))
	}
	for i, v := range entries {
		key, head := unsafe.Add(v.Key(), keyAt), records[i]
		if head == nil || !x.Hash.Equal(head.Key(), key) {
			_, head = x.Find(hashes[i], key)
		}
		if !head.Plain(at) {
			head = p.m.Visible(head, at)
		}
		p.checkRead(s.gen, key, head)
		records[i] = head
	}
	hooks.At(hooks.GetWalked)
	s.check() // the versions were read while the snapshot was open
	runtime.KeepAlive(s.st)
}

// record returns the value of a record.
func (ix *Index[I, K, V]) record(in window[K], key K) (value V, ok bool) {
	if in.tx {
		return getIn[K, V](DBTx(in.moment), key, false)
	}
	return Snapshot[K, V](in.moment).Get(key)
}

// walk visits the entries of a stretch.
func (ix *Index[I, K, V]) walk(
	in window[K], of *stretch[I, K], visit func(index I, key K) bool,
) {
	var c chunk
	switch {
	case ix.empty(of):
	case ix.unique.at != nil && of.one:
		index := of.keys.low.key
		if owner, ok := ix.unique.get(in.moment, in.tx, index); ok {
			ix.owners(in, of, index, owner, visit)
		}
	case ix.unique.at != nil:
		part := ix.indexRange(of)
		within := spanOf(&part)
		ix.unique.at.along(&c, in.moment, in.tx, &within, of.down, func() bool {
			for _, v := range c.found[:c.n] {
				if !ix.owners(in, of, chain.KeyOf[I](v), chain.ValueOf[I, K](v), visit) {
					return false
				}
			}
			return true
		})
	default:
		ix.alongEntries(&c, in, of, func() bool {
			for _, v := range c.found[:c.n] {
				if e := (*entry[I, K])(v.Key()); !visit(e.index, e.key) {
					return false
				}
			}
			return true
		})
	}
}

// end returns the first record of a stretch, as r sees it. A transaction reads no more than that.
func (ix *Index[I, K, V]) end(r Reader[K, V], of stretch[I, K]) (e Entry[I, K], value V, ok bool) {
	in := ix.open(r, forCall)
	defer in.closeOwn()
	if e, ok = ix.endIn(in, &of); ok {
		value, _ = ix.record(in, e.Key)
		e.Key = asWritten(in.st, e.Key, in.tx)
	}
	runtime.KeepAlive(in.st)
	return e, value, ok
}

// endIn returns the first entry of a stretch.
func (ix *Index[I, K, V]) endIn(in window[K], of *stretch[I, K]) (first Entry[I, K], ok bool) {
	found := func(index I, key K) bool {
		first, ok = Entry[I, K]{index, key}, true
		return false
	}
	switch {
	case ix.unique.at == nil && !ix.empty(of):
		part := ix.entryRange(of)
		within := spanOf(&part)
		if v := ix.entries.at.endOf(in.moment, in.tx, &within, of.down); v != nil {
			e := (*entry[I, K])(v.Key())
			found(e.index, e.key)
		}
	case ix.unique.at != nil && !of.one:
		part := ix.indexRange(of)
		within := spanOf(&part)
		if v := ix.unique.at.endOf(in.moment, in.tx, &within, of.down); v != nil {
			ix.owners(in, of, chain.KeyOf[I](v), chain.ValueOf[I, K](v), found)
		}
	default:
		ix.walk(in, of, found)
	}
	return first, ok
}

// owners visits the records that have an index key of a unique index, in order. These are the owner
// of the index key, and the records to which the transaction has given the same index key.
func (ix *Index[I, K, V]) owners(
	in window[K], of *stretch[I, K], index I, owner K, visit func(index I, key K) bool,
) bool {
	if len(in.extra) == 0 {
		return !ix.behind(of, index, owner) || visit(index, owner)
	}
	all := []K{owner}
	for _, record := range in.extra[extraKey{ix, index}] {
		all = append(all, record.(K))
	}
	sort.Slice(all, func(i, j int) bool {
		n := ix.compareKeys(unsafe.Pointer(&all[i]), unsafe.Pointer(&all[j]))
		return n < 0 && !of.down || n > 0 && of.down
	})
	for _, key := range all {
		if ix.behind(of, index, key) && !visit(index, key) {
			return false
		}
	}
	return true
}

// behind reports whether an entry of a unique index, with its index key in indexRange, is in the
// stretch.
func (ix *Index[I, K, V]) behind(of *stretch[I, K], index I, key K) bool {
	if of.after == nil || index != of.after.IndexKey {
		return true
	}
	return ix.compareKeys(unsafe.Pointer(&key), unsafe.Pointer(&of.after.Key)) > 0
}

// indexRange returns the range of the index keys that entries of a stretch may have.
func (ix *Index[I, K, V]) indexRange(of *stretch[I, K]) Range[I] {
	if of.after == nil {
		return of.keys
	}
	return rest(of.keys, ix.order.Compare, bound[I]{of.after.IndexKey, inclusive})
}

// entryRange returns the range of the entries of a stretch.
func (ix *Index[I, K, V]) entryRange(of *stretch[I, K]) (all Range[entry[I, K]]) {
	low, high := &of.keys.low, &of.keys.high
	switch low.kind {
	case inclusive:
		all = From(edgeOf[I, K](ix.collation, low.key, -1))
	case exclusive:
		all = From(edgeOf[I, K](ix.collation, low.key, +1))
	}
	switch high.kind {
	case inclusive:
		all = all.UpTo(edgeOf[I, K](ix.collation, high.key, +1))
	case exclusive:
		all = all.UpTo(edgeOf[I, K](ix.collation, high.key, -1))
	}
	if of.after == nil {
		return all
	}
	after := entryOf(ix.collation, of.after.IndexKey, of.after.Key)
	return rest(all, ix.compare, bound[entry[I, K]]{after, exclusive})
}

// rest returns the part of r that is left for a loop that goes on at a key.
func rest[T any](r Range[T], compare func(a, b unsafe.Pointer) int, at bound[T]) Range[T] {
	if r.low.kind == open || compare(unsafe.Pointer(&r.low.key), unsafe.Pointer(&at.key)) < 0 {
		r.low, r.prefix = at, false
	}
	return r
}

// An Entry is a place in an index, such as the end of a page: an index key, and the key of a record
// that has it. It may be kept in any form that gives back keys == to the former ones; of a
// time.Time only t.UTC().Round(0) does.
//
// Entries are in the order of the index keys, if the index has one. Entries of one index key are in
// the order of the keys of their records: the table's order if it has one, else that of Go's
// operators for numbers and strings, and that of a hash for all other types. The order is the same
// in each process, and for an index that was made anew, except for keys with a pointer or channel,
// and for two keys whose hashes of 64 bits are equal.
type Entry[I, K comparable] struct {
	IndexKey I
	Key      K
}

// AscendEntries is [Index.Ascend] with the index keys, and for pages: if after is not nil the loop
// begins behind that entry, which need not exist or be in the range. So a caller that passes the
// last entry of each page meets each entry that was there all the time once; with [Map.SnapshotAt]
// all pages are of one moment. A page costs a search in a tree, wherever it begins.
func (ix *Index[I, K, V]) AscendEntries(
	r Reader[K, V], keys Range[I], after *Entry[I, K],
) iter.Seq2[Entry[I, K], V] {
	of := ix.ranged(keys, after, false)
	return func(yield func(Entry[I, K], V) bool) { ix.loop(r, &of, yield) }
}

// Min returns the lowest entry, and the value of its record, as r sees them. All lower entries join
// the read set. It costs a search in a tree and a Get, and panics as [Index.Ascend] does.
func (ix *Index[I, K, V]) Min(r Reader[K, V]) (e Entry[I, K], value V, ok bool) {
	return ix.end(r, ix.ranged(Range[I]{}, nil, false))
}

// Max returns the highest entry, see [Index.Min].
func (ix *Index[I, K, V]) Max(r Reader[K, V]) (e Entry[I, K], value V, ok bool) {
	return ix.end(r, ix.ranged(Range[I]{}, nil, true))
}
