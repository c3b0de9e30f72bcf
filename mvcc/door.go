package mvcc

import (
	"math"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/seam"
)

// A door has the methods of a database that packages of this project use, and programs need not
// see, each beside its subject. The comments of package internal/seam/door describe them.
type door struct{ *DB }

func init() { seam.Door = func(db any) any { return door{db.(*DB)} } }

func (db door) SparedSnapshot() DBSnapshot { return dbAt(db.DB).snapshot(forCall) }

// Options.MaxTxAge is for transactions and snapshots that a program keeps open. One that the
// library opens for one call, and ends with it, is spared: it takes as long as it takes. No
// function of an Update or View, and no loop of the program, runs in it. This is where each such
// call says so:
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
