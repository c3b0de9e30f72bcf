// Package journal keeps the tables of a database on disk: what is committed is appended to a file
// as it happens, and is there again when the process comes back.
//
//	db := mvcc.NewDB(nil)
//	users := mvcc.NewTable[int, User](db, "users", nil)
//	j, err := journal.Open(ctx, "data", db, codec.Gob, nil) // loads what was there
//	...
//	users.Store(1, u)
//	err = j.Sync(ctx) // what was committed before is on disk
//
// After a crash, of the process or the machine, the tables are what a prefix of the commits has
// made of them. All commits for which [Journal.Sync] has returned nil are in it.
//
// A commit does not wait for the disk, nor for the journal, which watches the database, see
// [mvcc.DB.Watch]. A goroutine that wants to know that something is on disk calls Sync; one write
// serves all that do so at the same time.
//
// # Records that cannot be saved
//
// A record that the codec refuses, see [mvcc.CodecError], is left out, alone: all others, also of
// the same commit, are saved. After a restart its key is absent, whatever it had before: an older
// value would pass for the newest one. So of a commit with such a record the rest comes back, not
// all or nothing. OnError or a logger is told, Stats count it, and Sync and Close return an error
// for as long as the tables have such a record. A codec that panics, or calls runtime.Goexit,
// refuses the record; one that blocks keeps the journal waiting: commits go on, Sync waits until
// its context ends, and Close for the codec.
//
// # Files
//
// A folder has backups and journals, by numbers. A journal is a row of groups; a group is a backup
// of the differences that some commits have made, see [mvcc.DB.SaveCommits]. Between them stand
// marks, each of which says that what was before it had got to the disk.
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
// Reading goes from the last backup to the first group that is damaged or does not follow. So it
// yields a prefix of the commits, with all that was acknowledged. A mark of a later epoch says that
// something has been lost which was on disk: that is an error.
package journal
