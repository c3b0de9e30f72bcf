// Package journal keeps the tables of a database on disk: what is committed is appended to a
// file as it happens, and is there again when the process comes back.
//
//	db := mvcc.NewDB(nil)
//	users := mvcc.NewTable[int, User](db, "users", nil)
//	j, err := journal.Open(ctx, "data", db, codec.Gob, nil) // loads what was there
//	...
//	users.Store(1, u)
//	err = j.Sync(ctx) // what was committed before is on disk
//
// After a crash, of the process or the machine, the tables are what they were after some
// commit, and whole: all commits up to there, in the order in which they were made, and none
// after. All for which [Journal.Sync] has returned nil is among them.
//
// A committer waits neither for the disk nor for the journal, which watches the database, see
// [mvcc.DB.Watch]. To know that a commit is on disk, call Sync. Any number of goroutines may do
// so at the same time: one write serves them all.
//
// # Files
//
// A folder has backups and journals, by numbers. A journal is a row of groups; a group is a
// backup of the differences that some commits have made, see [mvcc.DB.SaveCommits]. Between them
// stand marks, each of which says that what was before it had got to the disk.
//
//   - J1: journal N begins with the state that is in backup N, and each group follows the one
//     before. If journal N-1 was not ended by a gap, or a failure, its last group leads to that
//     state too, and it was on disk before journal N was begun.
//   - J2: a file is removed when a backup of a higher number is on disk.
//   - J3: Sync acknowledges an epoch when there is a backup, and journals after it that lead to the
//     last commit up to that epoch, without a break, and all of this is on disk.
//   - J4: a mark of an epoch is written after J3 holds for it. It gets to the disk with what
//     follows.
//
// So what is read, from the last backup on, to the first group that is damaged or does not
// follow, is a prefix of the commits with all that was acknowledged. A mark of a later epoch
// than that says that something has been lost which was on disk: that is an error.
package journal
