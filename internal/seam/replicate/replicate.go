// Package replicate lets a database have a copy of tables that are kept elsewhere, see module etcd:
// by transactions that somebody else commits, and commits at epochs that somebody else has drawn.
// Keys and values stand in slices of [mvcc.Change], so this package need not know their types.
package replicate

import "slices"

// A DB is a database whose commits come from elsewhere. Its functions may be called by any number of
// goroutines, unless they say otherwise. A transaction is an [mvcc.DBTx].
type DB interface {
	// Attempt calls fn, a func(mvcc.DBTx) error, in a serializable transaction, and rolls it back.
	// It returns the work, or the error of fn, or of a unique index that refuses the work.
	Attempt(fn any) (*Work, error)
	// Renew returns one work with the writes of several as of now, one after the other. Functions
	// of Merge make new values of the newest ones, which are the Reads of the new work. Other Reads
	// of the works, and the index keys that these change, are not in it: a work that has read keys
	// which one before it writes, or which were written since, has to run again.
	Renew(works []*Work) (*Work, error)
	// Apply commits the writes of fn, a func(mvcc.DBTx) error, at an epoch that must be above the
	// newest one, and that is the newest one then, even if fn writes nothing. One goroutine at a
	// time may call it, and nobody else may commit.
	Apply(epoch uint64, fn any) error
	// Skip says that the states of epochs above one, up to another, are not known, and will not be:
	// so nobody reads as of these epochs, or goes on from them. It is called before the clock gets
	// there.
	Skip(above, to uint64)
	// Indexed returns the index keys that records have entered or left in tx, an mvcc.DBTx in the
	// function of Attempt or Apply: only these, and only of tables that have some.
	Indexed(tx any) []Table
}

// Of returns the database db, an *mvcc.DB, as a replica. Package mvcc sets it.
var Of func(db any) DB

// A Work has the reads and writes of a transaction.
type Work struct {
	Epoch  uint64  // its read epoch
	Tables []Table // the tables that it has used
	// Blind says that the function has read no values but those given by Merge: so it need not run
	// again if a value has changed, see [DB.Renew].
	Blind bool
	// OnCommit are the functions that were given to OnCommit of the transaction.
	OnCommit []func(epoch uint64)
	// Kept is for Renew.
	Kept any
}

// Writes returns how many records the transaction writes.
func (w *Work) Writes() (n int) {
	for i := range w.Tables {
		n += w.Tables[i].Written
	}
	return n
}

// Merges reports whether the transaction merges, so that Renew has to find its writes.
func (w *Work) Merges() bool {
	return slices.ContainsFunc(w.Tables, func(t Table) bool { return len(t.Merged) > 0 })
}

// A Table has the reads and writes of a transaction in one table.
type Table struct {
	Name string
	// Reads is a []mvcc.Change of the table, or nil: the keys that were read, each with the epoch of
	// the version that was seen in Epochs, 0 if there was no value.
	Reads  any
	Epochs []uint64
	// All says that more was read than these keys, the Ranges, and the index keys: all keys, or a
	// range of an index.
	All bool
	// Indexes are the indexes of which index keys were read, or change.
	Indexes []Index
	// Ranges are the ranges that were read whole, if keys have the order of Go's operators.
	Ranges []Range
	// Writes is a []mvcc.Change of the table, or nil: Has is not set where a record is deleted.
	Writes  any
	Written int // the length of Writes
	// Merged says which of Writes are merges, by their numbers. The values that a merge goes on
	// from are not among the Reads, except in a work of Renew.
	Merged []int
}

// An Index has the reads and writes of a transaction in one index of a table. Its index keys are
// boxed, and may be in it several times.
type Index struct {
	Name string
	// Reads are the index keys for which the transaction has read which records have them.
	Reads []any
	// Writes are the index keys that records enter or leave.
	Writes []any
}

// A Range is a range of keys, by boxed keys, which are nil where the range has no end. The records
// of a range of up to [MostNamed] keys are among the Reads.
type Range struct {
	Low, High                   any
	LowExclusive, HighExclusive bool
	// Keys is about how many keys the range has now, with those that were deleted lately. Above
	// [MostKeys] nothing more is known.
	Keys int
}

// MostKeys is the most keys of a range that are counted, and MostNamed the most that are read one
// by one.
const (
	MostKeys  = 256
	MostNamed = 48
)
