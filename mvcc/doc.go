// Package mvcc is a concurrent map from keys to values of any type, with transactions over several
// keys.
//
// A [Map] keeps several versions of a value for a while. A transaction reads the versions that were
// the newest when it began, whatever happens meanwhile. Its own writes become visible all at once,
// or not at all.
//
// # Which call to use
//
//   - One key: [Map.Load], [Map.Store] and the others that are named after those of [sync.Map], and
//     mean the same; [Map.Compute] and [Map.LoadOrCompute] as in xsync. [Map.Put] is Store with an
//     error, for a table with a unique index.
//   - Reading several keys, or all: [Map.View]. It never waits, never conflicts and runs its
//     function once. [Map.Snapshot] does the same without a function, for a view that lives long or
//     is shared by goroutines. [Map.SnapshotAt] opens a view of the past, and
//     [History] tells what one key was.
//   - Reading and writing: [Map.Update]. It commits, and tries again after a conflict. [Map.Begin]
//     and [Tx.Commit] do the same by hand. To count or to add, use [Tx.Merge]: what depends on the
//     old value of one key alone conflicts with nobody.
//   - Numbers for keys: [NewSequence].
//   - Several maps, of several types, in one transaction: [NewDB] and [NewTable].
//   - Keys in order: [NewOrdered]. Then [Snapshot.Ascend], [Tx.Ascend] and others visit ranges.
//   - Records by what is in them: [NewIndex] and [NewOrderedIndex] of a table. Pages that go on
//     behind an [Entry], and facets: [Index.AscendEntries], [Index.Keys].
//   - Following commits: [Map.Watch] and [DB.Watch]; [DB.Follow] keeps a cache or a copy in step.
//     [Snapshot.Changed] tells of the next change of one key, and [Snapshot.Diff] compares two
//     snapshots.
//   - Deleting records at a given time: [Map.Expire], [Map.OnExpire].
//   - Keeping data beyond the process: [DB.SaveFile] and [DB.LoadFile], or [DB.Save] and [DB.Load]
//     for streams. Package [github.com/mvccmap/mvccmap/journal] persists each commit.
//   - Types, tables and keys that have changed since: [Migrate] and [MigrateTo]; docs/schemas.md in
//     the repository has a page of cases.
//   - Functions for use inside and outside a transaction: let them take a [Reader] or a
//     [ReadWriter].
//   - Tests of your program: package [github.com/mvccmap/mvccmap/mvcctest] has each Update conflict
//     first, and finds mistakes that nothing else notices.
//
// # What is guaranteed
//
// One-key operations and transactions at [LevelSerializable], the default, behave as if they ran
// one at a time, in an order that agrees with real time: an operation sees what committed before it
// began. (Strict serializability, in the sense of Herlihy and Wing 1990 and of Adya 1999, PL-SS.)
// This covers keys that were found absent, and scans of ranges or of the whole map: there are no
// phantoms. It covers all tables of a transaction of a [DB].
//
// At [LevelSnapshot] a transaction reads as of its begin. If it has read at all, it cannot
// overwrite what another one has committed since. Two transactions may each read what the other
// writes, and both commit. That is write skew (Berenson et al. 1995). So a transaction at this
// level can break the serializability of others.
//
// A View or a Snapshot sees one moment of the map: everything that had committed at its epoch, and
// nothing else. It is one of the serializable transactions where no transaction at LevelSnapshot
// writes.
//
// docs/guarantees.md in the repository has every promise with the tests that check it.
//
// # Waiting
//
// Nobody waits for a goroutine that is not running. If a commit was stopped in the middle, the
// goroutines that meet it complete, postpone or abort it. There are four exceptions:
//
//   - Inserting a new key, and removing a deleted one, locks a bucket of the hash table for some
//     instructions for each key in it. They may have to hash these keys. The Go runtime does not
//     preempt the holder.
//   - In an ordered map the same locks a leaf of a tree, likewise. Now and then it also takes a
//     mutex for about a microsecond, and the holder of that may be preempted.
//   - A transaction that has lost again and again gets its turn. A write of one of its keys gives
//     way to it, once and for a bounded time, see [Map.Update].
//   - A transaction that begins when more are open than lately takes a mutex for some instructions.
//     So do [Map.Stats], and commits after [Map.Close].
//
// This is about reads, writes and transactions. Other calls may wait, such as [Map.Reclaim],
// [DB.Load], Close, or [Sequence.Next] once in a block. Their comments say for what.
//
// # Limits
//
// The map lives in memory, and ends with the process unless it is saved or has a journal. Values
// are stored, not copied: everybody shares what they point to, so it must not be changed after it
// was stored. Nor must the room behind a slice, which append writes: append(slices.Clip(old), x).
// Options.Strict finds such changes in tests.
//
// # What it costs
//
// A read of one key allocates nothing. A write allocates one version. A transaction that begins
// writes one word that nobody else writes. The only word that all commits share is the clock.
//
// A read-only transaction neither notes nor validates what it reads. A serializable transaction
// that writes validates its reads when it commits, unless it writes all the keys that it has read.
// The cost grows with the number of reads.
//
// Writers, and a goroutine in the background, drop old versions when nobody can see them: see
// package [github.com/mvccmap/mvccmap/gc]. A snapshot that stays open for hours keeps at most one
// version of each key from being dropped. An empty map has no goroutine, unless Options.Retain is
// set.
//
// The compiler makes a part of the package anew for each type of map. docs/performance.md in the
// repository measures this, and everything else.
//
// # Ending
//
// Transactions and snapshots are small values that may be copied. Each knows whether it has ended.
// A late Rollback or Close does nothing. Any other late call panics with [ErrTxDone], or returns
// it.
//
// A transaction or snapshot that nobody ends keeps old versions until the garbage collector finds
// its handle unreachable. Options.MaxTxAge limits its age, and Options.Logger tells of it.
//
// A map that is in use has a background goroutine, which ends when there is nothing to do.
// [Map.Close] ends it for good. A map that is used in a bubble of testing/synctest must be made and
// closed in the bubble.
//
// A Tx is for one goroutine at a time. Two that use it at once get a panic, like two that write to
// a Go map.
package mvcc
