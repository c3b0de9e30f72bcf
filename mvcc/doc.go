// Package mvcc has concurrent maps with transactions: a [Map] by itself, or the tables of a [DB], of
// any types, with indexes, keys in order, expiry, watches, a view of the past, backups, and a
// journal (package [github.com/mvccmap/mvccmap/durable]). All of it is in memory, in one process;
// module etcd has tables of several processes.
//
// A [Map] keeps several versions of a value for a while. A transaction reads the versions that were
// the newest when it began, whatever happens meanwhile. Its writes become visible all at once, or
// not at all.
//
// # Which call to use
//
//   - One key: [Map.Load], [Map.Store] and others, as in [sync.Map]; [Map.Compute] and
//     [Map.LoadOrCompute], as in xsync; [Map.Put] for a table with a unique index.
//   - Reading several keys, or all: [Map.View], or [Map.Snapshot] for a view that lives long or is
//     shared by goroutines. [Map.SnapshotAt] and [History] read the past.
//   - Reading and writing: [Map.Update], or [Map.Begin] and [Tx.Commit] by hand. To count or to
//     add, use [Tx.Merge], which conflicts with nobody.
//   - Numbers for keys: [NewSequence].
//   - Several maps in one transaction: [NewDB] and [NewTable].
//   - Keys in order, and ranges: [NewOrdered], [Snapshot.Ascend], [Tx.Ascend].
//   - Records by their fields: [NewIndex] and [NewOrderedIndex] of a table; pages and facets by
//     [Index.AscendEntries] and [Index.Keys].
//   - Following commits: [Map.Watch] and [DB.Watch]; [DB.Follow] keeps a cache or a copy in step.
//     [Snapshot.Changed] tells of the next change of one key.
//   - Deleting records at a given time: [Map.Expire], [Map.OnExpire].
//   - Keeping data: a journal of all commits, backups, codecs, migrations to other types:
//     package [github.com/mvccmap/mvccmap/durable].
//   - Functions for use inside and outside a transaction: [Reader], [ReadWriter].
//   - Tests of your program: package [github.com/mvccmap/mvccmap/mvcctest].
//
// Nil options, and fields of options that are zero, mean the defaults.
//
// # Guarantees
//
// One-key operations and transactions at [LevelSerializable], the default, behave as if they ran
// one at a time, in an order that agrees with real time. (Strict serializability: Herlihy and Wing
// 1990; PL-SS of Adya 1999.) This covers absent keys, scans (there are no phantoms), and all tables
// of a [DB].
//
// At [LevelSnapshot] a transaction reads as of its begin. If it has read at all, it cannot
// overwrite a later commit. Two transactions may each read the key that the other writes, and both
// commit: write skew (Berenson et al. 1995). So it can break the serializability of others.
//
// A View or a Snapshot sees everything that had committed at its epoch, and nothing else. It is a
// serializable transaction where no transaction at LevelSnapshot writes.
//
// If a function of the program panics, or calls runtime.Goexit, the call that runs it writes
// nothing, ends its transaction or snapshot, and passes the panic on. docs/guarantees.md in the
// repository has the exceptions, and every promise with its tests.
//
// # Waiting
//
// Reads, writes and transactions wait for no goroutine that is not running: whoever meets a commit
// that stands still completes, postpones or aborts it. There are four exceptions:
//
//   - Inserting a new key, and removing a deleted one, locks a bucket of the hash table for some
//     instructions, and perhaps a hash, for each key in it. The holder is not preempted.
//   - In an ordered map each of the two locks a leaf of a tree for some ten nanoseconds, also
//     without preemption. Replacing leaves takes about a microsecond under a mutex, whose holder may
//     be preempted.
//   - A write gives way to a transaction that has its turn on the key, once and for a bounded time,
//     see [Map.Update].
//   - A transaction or snapshot that begins when more are open than lately takes a mutex for some
//     instructions. So do [Map.Stats], and commits after [Map.Close].
//
// Other calls may wait, such as [Map.Reclaim] or Close. Their comments name the cause.
//
// # Limits
//
// The map ends with the process unless it is saved or has a journal. Values are stored, not copied:
// everybody shares the memory that they point to, so it must not be changed after the store. Nor
// may append write to the room behind a stored slice: use append(slices.Clip(old), x).
// Options.Strict finds such changes in tests.
//
// Reads and deletions find a key absent that is not equal to itself, such as a NaN; other writes
// panic with [ErrBadKey]. One that cannot be hashed is a runtime error.
//
// # Costs
//
// A read of one key allocates nothing, a write one version. The clock is all that commits share. A
// read-only transaction neither notes nor validates its reads. A serializable transaction that
// writes validates its reads when it commits, unless it writes all the keys that it has read: the
// cost grows with their number.
//
// Writers, and a goroutine in the background, drop old versions when nobody can see them: see
// package [github.com/mvccmap/mvccmap/gc]. An open snapshot keeps at most one version of each key.
// An empty map has no goroutine, unless Options.Retain is set. docs/performance.md in the
// repository has figures.
//
// # Ending
//
// Transactions and snapshots are small values that may be copied. For calls after their end see
// [ErrTxDone]. One that nobody ends keeps old versions until the garbage collector finds its handle
// unreachable, and [Stats].Leaked counts it. Options.MaxTxAge limits its age.
//
// A map that is in use has background work, which ends when there is nothing to do, at [Map.Close]
// or [DB.Close], or when the map is unreachable: a value in it that refers to it or its database
// prevents that. A map that is used in a bubble of testing/synctest must be made and closed in the
// bubble.
package mvcc
