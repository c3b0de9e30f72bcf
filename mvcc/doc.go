// Package mvcc is a concurrent map from keys to values of any type, with transactions over several
// keys.
//
// A [Map] keeps, for a while, several versions of a value. A transaction reads the versions that
// were the newest when it began, whatever happens meanwhile, and makes its own writes visible all
// at once, or not at all.
//
// # Which call to use
//
//   - One key: [Map.Load], [Map.Store] and the others that have the names and the meaning of those
//     of [sync.Map]; [Map.Compute] and [Map.LoadOrCompute] as in xsync. [Map.Put] is Store with an
//     error, for a table with a unique index.
//   - Reading several keys, or all: [Map.View]. It never waits, never conflicts and runs its
//     function once. [Map.Snapshot] is the same without a function, for a view that lives long or
//     is shared by goroutines, and [Map.SnapshotAt] for one of the past.
//   - Reading and writing: [Map.Update]. It commits, and tries again after a conflict. [Map.Begin]
//     and [Tx.Commit] are the same by hand. What depends on one value alone, such as a counter, is
//     best a [Tx.Merge], which conflicts with nobody.
//   - Several maps, of several types, in one transaction: [NewDB] and [NewTable].
//   - Keys in order: [NewOrdered], and then [Snapshot.Ascend], [Tx.Ascend] and others for ranges of
//     keys.
//   - Records by what is in them: [NewIndex] and [NewOrderedIndex] of a table.
//   - Functions for use in a transaction and without one take a [Reader] or a [ReadWriter].
//   - In tests: Options.Strict shows mistakes that are not noticed otherwise.
//
// # What is guaranteed
//
// One-key operations and transactions at [LevelSerializable], the default, behave as if they ran
// one at a time, in an order that agrees with real time: an operation sees what committed before it
// began. (Strict serializability, in the sense of Herlihy and Wing 1990 and of Adya 1999, PL-SS.)
// That includes keys which were found absent, and scans of ranges or of the whole map: there are no
// phantoms. For a transaction over several tables of a [DB] it holds over all of them.
//
// At [LevelSnapshot] a transaction reads as of its begin and, if it has read at all, cannot
// overwrite what another one has committed since. Two of them may each read what the other writes,
// and both commit: write skew. (Berenson et al. 1995.) A transaction at this level can break the
// serializability of others.
//
// A View or a Snapshot sees one moment of the map: everything that had committed at its epoch, and
// nothing else. Where no transaction at LevelSnapshot writes, it is one of the serializable
// transactions.
//
// docs/guarantees.md in the repository has every promise with the tests that check it.
//
// # Waiting
//
// Nobody waits for a goroutine that is not running: a commit that was stopped in the middle is
// completed, postponed or aborted by the goroutines that meet it. These are the exceptions:
//
//   - Inserting a key that is new to the map, and removing a deleted one, locks a bucket of the
//     hash table for some instructions for each key of it, which may have to be hashed. The Go
//     runtime does not preempt the holder.
//   - In an ordered map the same locks a leaf of a tree, likewise; now and then it takes a mutex as
//     well, held for about a microsecond, whose holder may be preempted.
//   - A transaction that has lost again and again gets its turn: a write of one of its keys gives
//     way to it, once and for a bounded time, see [Map.Update].
//   - A mutex, held for some instructions, is taken by a transaction that begins when more are
//     open than lately, by [Map.Stats], and by commits after [Map.Close].
//
// # Limits
//
// The map lives in memory, and ends with the process. [DB.SaveFile] saves it; package
// [github.com/mvccmap/mvccmap/journal] persists each commit. Values are stored, not
// copied: everybody shares what they point to, so it must not be changed after it was stored.
//
// # What it costs
//
// A read of one key allocates nothing; a write allocates one version. A transaction that begins
// writes one word that nobody else writes; the only word that all commits share is the clock. A
// read-only transaction neither notes nor validates what it reads. A serializable transaction that
// writes validates its reads when it commits, unless it writes all the keys that it has read: the
// cost grows with their number.
//
// Writers, and a goroutine in the background, drop old versions when nobody can see them: see
// package [github.com/mvccmap/mvccmap/gc]. A snapshot that stays open for hours keeps at most one
// version of each key from being dropped. An empty map takes 5 KB, and has no goroutine.
//
// # Ending
//
// Transactions and snapshots are small values that may be copied. Each knows whether it has ended:
// a late Rollback or Close does nothing, and any other late call panics with [ErrTxDone], or
// returns it. One that nobody ends keeps old versions until the garbage collector finds its handle
// unreachable: Options.MaxTxAge sets a limit to that, and Options.Logger tells of it. A map that is
// in use has a background goroutine, which ends when there is nothing to do; [Map.Close] ends it
// for good. In a bubble of testing/synctest a map has to be made, and closed, within the bubble.
//
// A Tx is for one goroutine at a time: two that use it at once get a panic, like two that write to
// a Go map.
package mvcc
