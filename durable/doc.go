// Package durable keeps the tables of a database outside the memory of the process: [Open] has a
// journal of all commits in a folder, which is enough for most programs; [Save] and [Load] are for
// a backup of one moment. The tables are there again when the process comes back.
//
//	db := mvcc.NewDB(nil)
//	users := mvcc.NewTable[int, User](db, "users", nil)
//	j, err := durable.Open(ctx, db, "data", nil) // loads the files
//	...
//	users.Store(1, u)
//	err = j.Sync(ctx) // earlier commits are on disk
//
// After a crash, of the process or the machine, the tables have the state after a prefix of
// the commits. All commits for which [Journal.Sync] has returned nil are in it.
//
// A commit waits neither for the disk nor for the journal, which watches the database, see
// [mvcc.DB.Watch]. A goroutine that wants to know that something is on disk calls Sync. One write
// serves all that call it at the same time.
//
// # Records that cannot be saved
//
// If the codec refuses a record, see [CodecError], the journal leaves out that one alone. It
// saves all others, also of the same commit. So such a commit does not come back as all or nothing.
// After a restart the key of the record is absent, whatever it had before: an older value would
// pass for the newest one. OnError or a logger is told, Stats count it, and Sync and Close return
// an error for as long as the tables have such a record. A codec that panics, or calls
// runtime.Goexit, refuses the record. A codec that blocks keeps the journal waiting: commits go on,
// Sync waits until its context ends, and Close waits for the codec.
//
// # Files
//
// A folder has backups and journals, by numbers. A journal is a row of groups; a group is a backup
// of the differences that some commits have made. Between them stand marks, each of which says
// that all before it had got to the disk.
//
//   - J1: journal N begins with the state that is in backup N, and each group follows the one
//     before. If it says that the journals before lead to that state too, these were on disk before
//     journal N was begun.
//   - J2: a file is removed when a backup of a higher number is on disk.
//   - J3: Sync acknowledges an epoch when there is a backup, and journals after it that lead to the
//     last commit up to that epoch, without a break, and all of this is on disk.
//   - J4: a mark of an epoch is written after J3 holds for it. It gets to the disk with the next
//     group.
//   - J5: journal N begins with a record of its number and position, and of the position that it
//     follows. The record is on disk before backup N is, and before the rest of the journal. So a
//     backup without its journal, a journal that is not the one of its name, and a backup of
//     another folder are damage.
//
// Reading goes from the last backup to the first group that is damaged or does not follow, and on
// from there with a later journal that says that it follows. So it yields a prefix of the commits,
// with all that was acknowledged. If a mark of a later epoch, or the file of J6, says that more was
// on disk, something has been lost. That is an error, which names the file. So one file that is
// removed, cut, renamed, or swapped with another loses nothing in silence. Only the last writes
// before a failure of the machine may also be cut unnoticed. Copy a folder when its journal is
// closed.
//
// The tables of a journal are those that were open at its end. The program that opens it need not
// make a closed one.
//
// [Inspect] lists the contents of a folder, without the types, and the command mvccdump prints the
// records. docs/format.md has the format byte by byte.
//
// # Other types
//
// Open refuses tables whose types have lost something that was saved, such as a field that was
// renamed. It returns a [*SchemaError] before anything is written. A field may be added.
// Options.Rename and Options.Migrate take over other tables, names and types, in the backup and in
// each group. Then the new backup has the present types, and the next Open finds them.
// docs/schemas.md in the repository has the cases.
//
// The files of a program with other types, names of tables or Options.Version stay in the folder
// "before", for Options.KeepBefore, whether the journal is closed or not. The time begins at the
// time of modification of that folder, which is a journal of its own. To go back to the program
// before, put that folder in the place of the journal's, or open it where it is. The folder takes
// the disk space that its files had at Open, whatever is written later; they are links as long as
// the original files are there. An older folder "before" becomes the folder "before" in the new
// one, and its time goes on.
//
// # Lives
//
// Each life of the database has a name, which is in the files, see [mvcc.Position]. Epochs go on
// from the last one that was found. So the epochs of commits that were lost in a crash come again,
// in another life.
//
// A follower, see [mvcc.DB.Follow], that has kept its position can go on: Options.Resume keeps the
// states that followers have got to. A follower begins anew where the history is another one: if
// its state was lost, or somebody has put back older files.
package durable
