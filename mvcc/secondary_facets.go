package mvcc

import (
	"iter"
	"runtime"
)

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
