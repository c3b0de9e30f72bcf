package mvcc

import (
	"errors"
	"fmt"
)

var (
	// ErrConflict is what a conflict error wraps: the transaction was rolled
	// back because of a concurrent one and may be tried again.
	ErrConflict = errors.New("mvcc: transaction conflict")

	// ErrTxDone is returned by Commit and Err, and is the panic value of every
	// other method but Rollback and Close, which do nothing, on a transaction or
	// snapshot that has ended.
	ErrTxDone = errors.New("mvcc: transaction or snapshot has ended")

	// ErrTxTooOld is what becomes of a transaction or snapshot that was older
	// than Options.MaxTxAge: View, Update, Commit and Err return it; every read and
	// write through a handle of one's own panics with an error that wraps it, until
	// Rollback or Close has been called, and afterwards with ErrTxDone. Nothing that
	// the transaction wrote has become visible.
	ErrTxTooOld = errors.New("mvcc: transaction or snapshot is older than MaxTxAge")

	// ErrBadKey is the panic value of writes with a key that is not equal to
	// itself: a NaN, or a struct, array or interface that contains one.
	ErrBadKey = errors.New("mvcc: key is not equal to itself")
)

// errConcurrentUse is what a method of a Tx panics with that finds another one under
// way.
var errConcurrentUse = errors.New("mvcc: a Tx is used by several goroutines at once")

// A ConflictKind says what a conflict was about.
type ConflictKind uint8

const (
	// ConflictRead: a key that the transaction read, or found absent, was
	// written by another one that committed first (serializable level).
	ConflictRead ConflictKind = iota + 1
	// ConflictScan: the transaction has scanned the map, and a key was written
	// after it began (serializable level).
	ConflictScan
	// ConflictWrite: a key that the transaction writes was written by another
	// one that committed after the transaction began (snapshot level).
	ConflictWrite
)

// String returns "read", "scan" or "write".
func (k ConflictKind) String() string {
	switch k {
	case ConflictRead:
		return "read"
	case ConflictScan:
		return "scan"
	case ConflictWrite:
		return "write"
	}
	return "unknown"
}

// A ConflictError says why a transaction could not be committed. It wraps
// [ErrConflict]. Nothing that the transaction wrote has become visible.
type ConflictError struct {
	// Key is the key in question, of the map's key type.
	Key any
	// Kind says what happened to it.
	Kind ConflictKind
	// ReadEpoch is the epoch as of which the transaction read.
	ReadEpoch uint64
	// CommitEpoch is the commit epoch of the version that was in the way, or 0
	// if there was none.
	CommitEpoch uint64
	_           struct{}
}

// Error names the key, the kind and the epochs.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: key %v (%v conflict, read epoch %d, commit epoch %d)",
		ErrConflict, e.Key, e.Kind, e.ReadEpoch, e.CommitEpoch)
}

// Unwrap returns [ErrConflict].
func (e *ConflictError) Unwrap() error { return ErrConflict }
