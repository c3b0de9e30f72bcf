package bench

import (
	"errors"

	"github.com/mvccmap/mvccmap/mvcc"
)

// An Engine is a store under test: tables of [Record]s whose keys are numbers, already filled.
type Engine interface {
	// Session returns the session of goroutine number worker; it is called before the goroutines
	// start, and worker is -1 for the session of the runner itself.
	Session(worker int) Session
	// Close ends the goroutines and files of the engine. No session is used afterwards.
	Close()
}

// A Session is one goroutine's access to an [Engine]. It should allocate no more than a user of the
// store would: the harness allocates nothing but the bytes that are put, and all else in B/op and
// allocs/op counts as the engine's.
type Session interface {
	// Do runs fn in one transaction and retries it until it has committed: fn may run several
	// times. readOnly says that fn does not write. If fn returns an error, Do rolls back and
	// returns it. Of the other errors of Do, [ErrStopped] ends the run silently and [ErrGaveUp]
	// counts as an error; any other, which must not be a mere conflict, ends the run as failed. An
	// engine that is [EngineSpec.OneKey] has no transactions: each call by fn takes effect alone.
	Do(readOnly bool, fn func(tx Access) error) error
	// Aborts returns the number of attempts, over the life of the session, that did not commit and
	// were made again. It is called while Do is not running.
	Aborts() uint64
}

// Access is a transaction of an [Engine], which sees its own writes. Parameter table is the index
// of a table.
type Access interface {
	// Get reads a record. Its bytes are not written to by anybody.
	Get(table int, key int64) (r Record, ok bool)
	// Put writes a record, whether or not it is there. Nobody writes to its bytes again: the engine
	// may keep them.
	Put(table int, key int64, r Record)
	// Add adds delta to the number of a record without reading it; a record that is not there
	// counts as 0. Add is called only for tables of numbers.
	Add(table int, key int64, delta int64)
	// Delete deletes a record, whether or not it is there.
	Delete(table int, key int64)
	// Range calls visit for the records whose keys are not below low, from the lowest to the
	// highest, until visit returns false. It is called only for tables that [TableSetup] says are
	// ordered.
	Range(table int, low int64, visit func(key int64, r Record) bool)
	// All calls visit for all records of a table, in any order.
	All(table int, visit func(key int64, r Record))
}

// A Pinner is a [Session] that can keep a snapshot open.
type Pinner interface {
	// Pin opens a snapshot of the engine as it is, which only one goroutine uses.
	Pin() (tx Access, done func(), err error)
}

// A Versioner is an [Engine] that can say how many versions of records it holds.
type Versioner interface {
	// Versions returns how many versions all keys have together. Any goroutine may call it, a
	// hundred times a second at most.
	Versions() int
}

// A Record is the value of a key in a table.
type Record struct {
	Number int64
	Bytes  []byte // nil if the table has numbers only
}

// Isolation is a level of isolation, for engines that have more than one.
type Isolation string

// The levels of isolation. Every workload is correct at either.
const (
	Serializable Isolation = "serializable"
	Snapshot     Isolation = "snapshot"
)

// A TableSetup is a table at first.
type TableSetup struct {
	Name    string
	Ordered bool // ranges are read
	Numbers bool // its records have no bytes
	Keys    []int64
	Records []Record // in the same order
}

// Setup has all that an [Engine] is made from.
type Setup struct {
	Tables []TableSetup
	// RollsBack says that functions return errors to roll their transactions back.
	RollsBack bool
	// Isolation is the level of read-write transactions, for engines that have a choice. It is
	// never empty.
	Isolation Isolation
	// Options are those of the transactional map, without its capacity and isolation level, for
	// engines that are such a map.
	Options mvcc.Options
	Limits
}

// Limits say how long a session attempts an operation.
type Limits struct {
	// Attempts is after how many attempts without a commit the session returns ErrGaveUp. Zero
	// means never.
	Attempts int

	// Stopped reports that the run is over. A session that retries without end must call it between
	// attempts, and give up with ErrStopped.
	Stopped func() bool
}

// Over returns the reason not to attempt an operation again after so many attempts, or nil.
func (l *Limits) Over(attempts int) error {
	switch {
	case attempts == l.Attempts:
		return ErrGaveUp
	case l.Stopped():
		return ErrStopped
	}
	return nil
}

// Errors of a [Session].
var (
	// ErrStopped is returned by a session that has given up because the run is over.
	ErrStopped = errors.New("bench: stopped")
	// ErrGaveUp is returned by a session that has made as many attempts as [Limits] allow, none of
	// which has committed. The operation is counted as an error and the run goes on.
	ErrGaveUp = errors.New("bench: gave up")
)

// Attempts counts the attempts and commits of a session that embeds it. It is padded: sessions of
// different goroutines must not share a cache line.
type Attempts struct {
	_       [128]byte
	Tries   uint64
	Commits uint64
	_       [128]byte
}

// Aborts implements [Session].
func (a *Attempts) Aborts() uint64 { return a.Tries - a.Commits }

// NoAborts is embedded in sessions whose transactions never conflict.
type NoAborts struct{}

// Aborts implements [Session].
func (NoAborts) Aborts() uint64 { return 0 }

// value is the stored form of a [Record]: a number, or a record with bytes.
type value interface{ int64 | Record }

// recordOf returns v as a record.
func recordOf[V value](v V) Record {
	switch p := any(&v).(type) {
	case *int64:
		return Record{Number: *p}
	case *Record:
		return *p
	}
	panic("not reached")
}

// valueOf returns r as it is stored.
func valueOf[V value](r Record) (v V) {
	switch p := any(&v).(type) {
	case *int64:
		*p = r.Number
	case *Record:
		*p = r
	}
	return v
}

// plus returns v with delta added to its number.
func plus[V value](v V, delta int64) V {
	r := recordOf(v)
	r.Number += delta
	return valueOf[V](r)
}
