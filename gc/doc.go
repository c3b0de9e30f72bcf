// Package gc, a part of package mvcc's engine that promises nothing to others, reclaims the
// versions that nobody can see any more. Its API may change in any version.
//
// # View
//
// A [View] names the versions to be kept: a bound m, and the read epochs below m of all live
// transactions, in two sorted lists, of the young ones and of those that were promoted. Every
// other transaction, live or future, reads at m or above. So of a key's versions these are needed,
// and no others: all above m, the newest one at or below m, and the newest one at or below each
// live epoch. That is at most (live epochs + 1) versions besides those above m, however long a
// reader stays open: versions between two readers go as well.
//
//	bound 10, live epochs 8 and 3
//	versions of a key    12 -> 9 -> 7 -> 5 -> 2 -> 1
//	needed                x    x    x         x        by all above 10; at 10; at 8; at 3
//
// (The interval test: Böttcher et al., "Scalable Garbage Collection for In-Memory MVCC Systems",
// PVLDB 13(2) 2019, section 4; Lee et al., "Hybrid Garbage Collection for Multi-Version Concurrency
// Control in SAP HANA", SIGMOD 2016.)
//
// A view stays true for ever, and only grows less useful. The versions that it gives up were
// invisible to everybody when it was made, and nobody begins below its bound afterwards.
//
// # Who does the work
//
// Writers do most of it, in package mvcc. A view has a min visible epoch ([View].Min): nobody reads
// below it, or will. A writer that covers a version of that epoch or an older one cuts off the
// versions below. It calls [Reclaimer.RefreshPast] when the view is older than some thousand
// commits. So memory does not depend on whether a goroutine gets its turn.
//
// Writers leave the last versions of keys that nobody writes any more, and those that somebody
// reads. A writer hands over the item of its key, a bucket of a few keys, once, through a bounded
// queue ([Reclaimer.Offer]). A [Reclaimer] visits the item at the next tick, by default within 100
// ms. The versions left decide when the next visit is:
//
//   - it has versions above the bound: at the next tick;
//   - it has versions that a young reader needs: in two ticks. Most readers have ended by then, and
//     the others are old;
//   - it has versions that an old reader needs, one that three ticks have seen: when that reader
//     ends. The version stands on the shelf of the newest read epoch that needs it, and moves to
//     the shelf of the next older one when that epoch has ended. The versions of a long reader cost
//     nothing until it ends.
//
// So the lists are bounded by the items with keys that have more than one version, and by the
// versions that old readers keep. Beside writers that never rest a tick visits a share of the list,
// in proportion to their commits since the last one.
//
// A goroutine empties a half-full queue into the list at once; committers do so when the queue is
// full. When the list is 64 times as long as the queue, a committer that hands an item over visits
// two that were handed over before. So cleaning up cannot fall behind by more than that. (The rule
// of the asynchronous post-commit of the Persistent Memory Development Kit's libpmemobj.) Without
// workers, and after Close, committers do the same whenever more than a few items wait. With
// [Config.Manual] there are no ticks, and [Reclaimer.Reclaim] does the work of a tick.
//
// Ticks are calls of a timer, so that no goroutine waits between two of them. They end when nothing
// is live, queued, listed or set aside, and take the memory of queue and lists with them. The next
// item handed over starts the timer. With [Config.Retain] ticks go on: each notes the clock, by
// which [Reclaimer.TimesOf] tells times of epochs.
//
// # Old readers
//
// A tick notes how long each live transaction has been seen. It tells the Logger of those that are
// old, and evicts those that are older than MaxAge: it ends their slots, and only then makes the
// view with which their versions are dropped.
package gc
