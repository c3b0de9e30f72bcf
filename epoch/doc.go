// Package epoch keeps the logical clock of a map and knows which of its epochs
// are still being read. It is a part of package mvcc's engine and promises nothing to
// others: its API may change in any version.
//
// # The problem
//
// A multi-version map may drop a version when nobody can see it any more. To
// know that, the reclaimer must know the read epoch of every live transaction,
// and a transaction that begins must not slip in, unseen, below the point up to
// which versions are being dropped. Beginning is the hottest operation there
// is: it must not touch memory that other beginners write.
//
// # The protocol
//
// Each pooled transaction state owns one [Slot]. Beginning publishes the read
// epoch in that slot with a single atomic store; ending is a single
// compare-and-swap of the slot's generation. There is no shared
// read-modify-write on either path. The reclaimer announces a bound, then scans:
//
//	begin                              refresh
//	1  S = clock                       a  m = clock
//	2  slot = S                        b  bound = max(bound, m)
//	3  if bound > S: back to 1         c  live = {s in slots : s live, s < m}
//
// Invariants, in the words used across the module:
//
//   - I1: the read epoch of a live transaction is in the view, or at least the
//     view's bound. If the scan (c) missed the slot, then b < c < 2 < 3 in the
//     single total order of Go's atomics, so step 3 saw bound >= m and kept S
//     only if S >= m.
//   - I6: the bound is stored before the slots are scanned. Swap b and c and a
//     transaction that stores its slot between them is in neither.
//
// Publishing only that "a reader is at or below S" (reload the clock after the
// store, keep the later value) is enough for a reclaimer that drops everything
// below the oldest reader. It is not enough here: versions between two readers
// are dropped too, so a slot must say exactly where its reader is.
//
// # What a scan costs
//
// Slots are numbered, and new ones get the lowest number that is free. A scan
// loads a word for each 64 numbers in use, and looks at the slots in which
// something may be live. A slot that its owner gives back goes, and its number is
// used again. So a scan costs what is open now, not what has ever been.
//
// A transaction that stays open is promoted: the third round of the reclaimer that
// finds it live, see [Slots.Round], publishes its read epoch in a sorted list, which
// every view shares, and takes its slot out of the scans. So 10^6 open snapshots
// cost a scan nothing, once they are older than three rounds. The slot of a
// promoted transaction is not used again, so that no scan has to look at it any
// more: the goroutine that ends the transaction leaves the slot behind, and the next
// round releases it.
//
// # Who may hold what
//
// A slot may be begun on one P and ended on another; nothing refers to the P
// after Begin. There may be any number of slots, of 128 bytes each. GOMAXPROCS may
// grow while the program runs.
package epoch
