package mvcc

import (
	"math"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/seam"
)

// A door has methods of a database for packages of this project, which programs need not see. Each
// stands in the file of its subject. The comments of package internal/seam/door describe them.
type door struct{ *DB }

func init() { seam.Door = func(db any) any { return door{db.(*DB)} } }

func (db door) SparedSnapshot() DBSnapshot { return dbAt(db.DB).snapshot(forCall) }

// Options.MaxTxAge is for transactions and snapshots that a program keeps open. Those that the
// library opens and ends within one call are spared, however long they take. No function of an
// Update or View, and no loop of the program, runs in them. These calls mark theirs as spared:
//
//   - forLibrary: Load, NewIndex, one-key writes of a table with indexes, sequences, records that
//     expire without OnExpire;
//   - clearing: Clear, DeleteRange;
//   - replicas: Apply and Renew, but not Attempt, which calls the function of an Update;
//   - snapshots with forCall: Save and journals, watches and channels that begin, History, counts
//     and ends of ranges and of indexes.
const (
	forProgram = 0
	forCall    = epoch.Spared
)

// forLibrary returns the options of an Update of the library.
func forLibrary(attempts int) *TxOptions {
	return &TxOptions{Isolation: LevelSerializable, MaxAttempts: attempts, own: true, kind: forCall}
}

// always is for an Update that goes on until it commits.
const always = math.MaxInt
