// Package tree is the index of maps whose keys have an order: a concurrent B+tree whose leaves
// hold the heads of version chains. It knows nothing of transactions, and nothing of the
// contents of a head: to it a head is a pointer to something that has a key.
//
//	inner ... inner    leaf, 512 bytes                            version: state | next | key ...
//	separators, kids --> [meta | cells | word | repl | marks | slices] --cell--> newest --> older
//
// There is one type of nodes for all types of keys. Beside each cell stands a slice of its key: 64
// bits that are in the order of the keys. For an integer or a float the slice is the whole key. For
// a string, or for two keys in a row, it is 64 bits behind those that all keys of the leaf have in
// common. So most searches compare no keys, and load no version but the one they look for. The
// program's function compares keys if slices are equal, or always if keys have no slices.
//
// A reader, a scan, and a writer that swaps a head never lock and never wait. An insert of a new
// key locks a leaf, by a bit of the leaf's word, for some ten nanoseconds while the goroutine is
// pinned to its processor. If the leaf is full, or has got six keys out of order, the insert
// replaces it by one or two new ones, in about a microsecond, and then locks a mutex to tell the
// inner nodes. No function of the program is called with anything locked: if one panics, or ends
// the goroutine, or blocks, the tree is whole.
//
// # Invariants
//
//   - T1: the range of a leaf never changes, nor do the separators of an inner node. So a node that
//     has been replaced still is a correct map to leaves that are live, or say that they are dead.
//   - T2: one cell is the authority for a key: that in the leaf, until it is marked as moved, and
//     then the one that the leaf's replacement names. The new cell is filled before the mark.
//   - T3: the keys of a leaf are those that its word counts. A word that was loaded, and is not dead,
//     is the set of keys that had a cell in the range at that moment, but for cells that are empty.
//   - T4: an entry keeps its place in the leaf, and its key, for the life of the leaf. A cell that
//     is emptied, when its key is removed, stays empty: a key that comes again gets another cell.
//
// Linearization points: of a lookup that finds a head, the load of the cell; of one that finds
// none, the load of the leaf's word, or of the empty cell; of an insert, the store of the leaf's
// word, or, if the leaf is replaced, the store that says dead; of a removal and an overwrite, the
// compare-and-swap of the cell.
//
// The leaf is after the permutation leaf of Masstree (Mao, Kohler, Morris, "Cache Craftiness for
// Fast Multicore Key-Value Storage", EuroSys 2012, section 4.6), but only the keys that were added
// last have an order there. A replaced node says where its entries are now, so that readers need no
// versions of nodes: this is after the marks of the Bw-tree and of lock-free lists (Harris, "A
// Pragmatic Implementation of Non-Blocking Linked-Lists", DISC 2001).
package tree
