package mvcc

import "iter"

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
