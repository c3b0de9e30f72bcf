// Package gc reclaims the versions that nobody can see any more.
//
// # View
//
// A [View] says what has to be kept: a bound m, and the sorted read epochs
// below m of all live transactions. Every other transaction, live or future,
// reads at m or above. So of a key's versions these are needed, and no others:
// all above m, the newest one at or below m, and the newest one at or below each
// live epoch. That is at most (live epochs + 1) versions besides those above m,
// however long a reader stays open: versions between two readers go as well.
// (The interval test: Böttcher et al., "Scalable Garbage Collection for
// In-Memory MVCC Systems", PVLDB 13(2) 2019, section 4; Lee et al., "Hybrid
// Garbage Collection for Multi-Version Concurrency Control in SAP HANA", SIGMOD
// 2016.)
//
// A view stays true for ever, it only grows less useful: what it allows to drop
// was invisible to everybody when it was made, and nobody begins below its
// bound afterwards.
//
// # Who does the work
//
// A [Reclaimer] makes a view every 100 ms by default, and then prunes the keys
// that were written since. Committers hand these keys over through a bounded
// queue, in which a key stands once. When the queue is full the committer does
// the work itself, so cleaning up can fall behind only by the length of the
// queue. (The same rule as for the asynchronous post-commit of the Persistent
// Memory Development Kit's libpmemobj.) A ticker alone would be too slow for a
// hot key: at five million writes a second one tick is half a million versions.
// So a committer that has made a chain grow asks for a newer view at once.
//
// An old version that somebody still reads is set aside, on the shelf of the newest
// read epoch that needs it, and its key is visited when that epoch has ended. A key
// of which only a tombstone is left waits in the same way for those who read below
// it. So what a long reader keeps costs nothing until it ends.
//
// With [Config.Manual] there are no goroutines, and [Reclaimer.Reclaim] does what
// they would.
//
// The reclaimer parks when nothing is live, queued or set aside. A parked
// reclaimer has no running ticker and costs nothing; the next key handed over
// wakes it.
//
// # Old readers
//
// A pass notes how long each live transaction has been seen. It tells the Logger of
// those that are old, and evicts those that are older than MaxAge: it ends their
// slots, and only then makes the view with which their versions are dropped.
package gc
