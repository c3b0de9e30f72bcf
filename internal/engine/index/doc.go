// Package index finds the version chain of a key: it is a concurrent hash table, or a tree where
// keys have an order, see tree.go and package tree. It knows nothing of transactions, nor of the
// types of keys: it gets the address of a key, and has a hasher that hashes and compares keys. Only
// [Lookup] is compiled for each type of keys.
//
// For each key it stores a pointer to the head of the key's chain, and that version has the key: so
// a lookup loads a bucket and a version, two cache misses.
//
//	table                bucket, 64 bytes                 version: state | next | key | value
//	top bits of the hash --> [meta | c0 .. c5 | over] --c_i--> newest --> next older --> ...
//
// A cell belongs to one key from the moment at which a head is put into it until the
// head is taken out. To change the head of a key, swap the cell from the old head to the new one,
// by compare-and-swap and without a lock ([Cell] is an atomic pointer). A head that was put on top
// of another may be taken off again; a head that has left its cell otherwise never comes back. So
// the swap fails if the cell has moved, or has been given to another key: a goroutine that
// remembers a cell notices by that.
//
// A mark, [Index.Moved], stands in a cell instead of a head when the cell has moved to the next
// table.
//
// Only inserts, removals and moves of buckets lock a bucket, by a bit of its first word (insert and
// remove are in edit.go, moves in move.go, loops in scan.go). The lock is held by a goroutine that
// is pinned to its processor, for as long as it takes to hash the bucket's keys and to move them.
//
// # Growing and shrinking
//
// When there are too many or too few keys, or too many overflows, another table is
// announced as the next one. A background goroutine and inserters of keys move the buckets one
// after the other. Each cell is filled in the new table first and then marked as moved in the old
// one; if its head has changed in between, both are done again. A bucket that has moved as a whole
// says so. Nobody waits: a lookup that meets a mark goes on in the next table. When all buckets
// have moved, the next table takes the place of the old one.
//
// A bucket has the keys whose hashes begin with its number. So bucket i splits into 2i
// and 2i+1, and a scan that meets a moved bucket visits its successors: each key once,
// through any number of resizes.
//
// # Visits
//
// A bucket has a bit for each cell for which a visit was asked, and a bit that says that the bucket
// has been handed over to be visited. The bits move with the cells.
package index
