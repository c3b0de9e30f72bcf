// Package epoch, a part of package mvcc's engine that promises nothing to others, keeps the logical
// clock of a map and knows which of its epochs are still being read. Its API may change in any
// version.
//
// # The problem
//
// A multi-version map may drop a version when nobody can see it any more. So the reclaimer must
// know the read epoch of every live transaction. A transaction that begins must not slip in,
// unseen, below the point up to which versions are being dropped. And beginning is the hottest
// operation there is: it must not touch memory that other beginners write.
//
// # The protocol
//
// Each pooled transaction state owns one [Slot]. Beginning publishes the read epoch in that slot
// with a single atomic store; ending is a single compare-and-swap of the slot's generation. Neither
// writes to memory that other transactions write. The reclaimer announces a bound, then scans:
//
//	begin                              refresh
//	1  S = clock                       a  m = clock
//	2  slot = S                        b  bound = max(bound, m)
//	3  if bound > S: back to 1         c  live = {s in slots : s live, s < m}
//
// Invariants, in the words used across the module:
//
//   - I1: the read epoch of a live transaction is in the view, or at least the view's bound. If the
//     scan (c) missed the slot, then b < c < 2 < 3 in the single total order of Go's atomics, so
//     step 3 saw bound >= m and kept S only if S >= m.
//   - I6: the bound is stored before the slots are scanned. Swap b and c and a transaction that
//     stores its slot between them is in neither.
//
// A slot must say exactly where its reader is, and not only that it reads at or below S: versions
// between two readers are dropped too.
//
// # Record
//
// A slot also has the record of a commit of several keys: the one word by which package mvcc
// decides about all of them at once. Versions name the slot by its number, and [Slots.Record]
// finds the record. [Slot.Open] begins a record, and [Slot.Settle] says that nobody refers to it
// any more. A slot whose record is not settled serves no other transaction.
//
//	slot: word  read epoch | may write | live      written by Begin, read by scans
//	      gen   names the transaction              moved on by End, or by an eviction
//	      record, installed (its lowest bit: settled)   of the commit
//	      promoted, evicted                        of the rounds, see below
//
// # The cost of a scan
//
// Slots are numbered, and new ones get the lowest number that is free. A scan loads a word for each
// 64 numbers in use, and looks at the slots in which something may be live. The number of a slot
// that its owner gives back is used again. So the cost of a scan follows the transactions open now,
// not those that have ever been.
//
// A round is the scan that the reclaimer makes at each tick, see [Slots.Round]. The third round
// that finds a transaction live promotes it: it publishes its read epoch in a sorted list, which
// every view shares, and scans pass over its slot from then on. So 10^6 open snapshots cost a scan
// nothing, once they are older than three rounds. The slot of a promoted transaction is not used
// again. The end of the transaction leaves it behind, and the next round releases it.
//
// # Ownership
//
// A slot may be begun on one P and ended on another; nothing refers to the P after Begin. There may
// be any number of slots, of 128 bytes each. GOMAXPROCS may grow while the program runs.
package epoch
