package mvcc

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

var (
	// ErrConflict is wrapped by a [*ConflictError]: a concurrent transaction was in the way.
	// Another attempt may succeed.
	ErrConflict = errors.New("mvcc: transaction conflict")

	// ErrTxDone: the transaction or snapshot has ended. Commit, Err and Try return it, Rollback and
	// Close do nothing, and every other method, and step of a loop, panics with it.
	ErrTxDone = errors.New("mvcc: transaction or snapshot has ended")

	// ErrTxTooOld: a transaction or snapshot was older than Options.MaxTxAge, and nobody sees its
	// writes. View, Update, Commit, Err and Try return it; reads and writes panic with an error
	// that wraps it, until Rollback or Close has been called.
	ErrTxTooOld = errors.New("mvcc: transaction or snapshot is older than MaxTxAge")

	// ErrEpochGone is wrapped by errors of [Map.SnapshotAt].
	ErrEpochGone = errors.New("mvcc: no such epoch any more")

	// ErrBadKey is the panic value of writes with a key that is not equal to itself: a NaN, or a
	// struct, array or interface that contains one.
	ErrBadKey = errors.New("mvcc: key is not equal to itself")
)

// errConcurrentUse is the panic of a method of a Tx that finds another call under way.
var errConcurrentUse = errors.New("mvcc: a Tx is used by several goroutines at once, " +
	"or by a function given to Merge")

// errTwice is the panic of a commit that has two writes of one key.
var errTwice = errors.New("mvcc: a transaction has two writes of one key: the bytes of a key have " +
	"changed since it was given (is it part of a buffer that is used again?), or a Tx is used by several " +
	"goroutines at once")

// errOwnKey is the panic of a call whose function seems to be in its own way for ever.
const errOwnKey = "mvcc: a function given to Compute, Merge or DeleteFunc was called in vain again and " +
	"again: it writes, on the map, the key that its call is about to write, or takes so long that others do"

// errUntil is the panic for a function given to Expire that goes by the time of the call.
const errUntil = "mvcc: Expire: until returned two times for one record: it must not ask for the " +
	"time itself, the value says when the record expires"

// errPrefix is the panic of a read of a range by Prefix that would miss keys.
const errPrefix = "mvcc: Prefix is for the order of Go's operators, and this is one by a function: " +
	"make it with mvcc.NewOrdered or the like, or give the range by From and Before"

// The panics of methods of zero values.
const (
	errZeroMap      = index.ZeroMap
	errZeroTx       = "mvcc: the transaction is a zero value: get one from Update or Begin"
	errZeroSnapshot = "mvcc: the snapshot is a zero value: get one from View or Snapshot"
	errZeroDB       = "mvcc: the DB is nil or a zero value: make one with mvcc.NewDB"
	errZeroIndex    = "mvcc: the Index is nil or a zero value: make one with mvcc.NewIndex"
)

// checkContext panics for a nil context.
func checkContext(call string, ctx context.Context) {
	if ctx == nil {
		panic("mvcc: " + call + ": ctx is nil, want context.Background() or another one")
	}
}

// A ConflictKind is the cause of a conflict.
type ConflictKind uint8

const (
	// ConflictRead: another transaction has written a key that this one has read, or found absent
	// (serializable level).
	ConflictRead ConflictKind = iota + 1
	// ConflictScan: another transaction has written a key of a map, table or range that this one
	// has scanned, or changed the number of keys that Len returned (serializable level).
	ConflictScan
	// ConflictWrite: another transaction has since written a key that this one writes (snapshot
	// level).
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

// A ConflictError says why a transaction was rolled back. It wraps [ErrConflict].
type ConflictError struct {
	// Table is the name of the map in its [DB], or "".
	Table string
	// Key is of the map's key type.
	Key any
	// Kind is the cause.
	Kind ConflictKind
	// ReadEpoch is the transaction's.
	ReadEpoch uint64
	// CommitEpoch is the epoch of the version in the way, or 0.
	CommitEpoch uint64
	// Attempts is how often [Map.Update] has run its function; 1 for a Commit by hand.
	Attempts int

	_ struct{}
}

func (e *ConflictError) Error() string {
	where := ""
	if e.Table != "" {
		where = fmt.Sprintf("table %q, ", e.Table)
	}
	tries := ""
	if e.Attempts > 1 {
		tries = fmt.Sprintf(", %d attempts", e.Attempts)
	}
	return fmt.Sprintf("%v: %skey %v (%v conflict, read epoch %d, commit epoch %d%s)",
		ErrConflict, where, e.Key, e.Kind, e.ReadEpoch, e.CommitEpoch, tries)
}

func (e *ConflictError) Unwrap() error { return ErrConflict }

// ErrGap is wrapped by each [*GapError].
var ErrGap = errors.New("mvcc: commits were missed")

// A GapError ends a watch whose loop was too slow, see [WatchOptions.Buffer]; or all watches of a
// map or database, if commits come too fast for the rounds.
type GapError struct {
	// Epoch is the epoch of the last commit given, or of the start of the watch.
	Epoch uint64
}

func (e *GapError) Error() string {
	return fmt.Sprintf("mvcc: Watch: too slow: commits after epoch %d were missed; "+
		"take a snapshot, and watch anew since that", e.Epoch)
}

func (e *GapError) Unwrap() error { return ErrGap }

// A conflict has the facts for a ConflictError, which is made only when asked for: Update throws
// most conflicts away.
type conflict struct {
	key       any
	of        *counters // of the map that has the key
	hash      uint64
	kind      ConflictKind
	readEpoch epoch.Epoch
	epoch     epoch.Epoch
}

// err returns the error of a transaction that was attempted so many times.
func (c conflict) err(attempts int) error {
	key := c.key
	if entry, ok := key.(interface{ indexKey() any }); ok {
		key = entry.indexKey()
	}
	return &ConflictError{Table: c.of.name, Key: key, Kind: c.kind, ReadEpoch: uint64(c.readEpoch),
		CommitEpoch: uint64(c.epoch), Attempts: attempts}
}

// conflictOn notes that the transaction conflicts over the key at key, whose newest
// committed version is v or nil.
func (p *part) conflictOn(key unsafe.Pointer, kind ConflictKind, v *chain.Node) result {
	c := conflict{key: p.index.Hash.Boxed(key), of: p.m.counters,
		hash: p.m.claimHash(p.index.Hash.Sum(key)), kind: kind, readEpoch: p.st.epoch()}
	if v != nil {
		if w, _ := p.m.Resolve(v); w.Committed() {
			c.epoch = w.Epoch()
		}
	}
	p.st.conflict = c
	return resultConflict
}

// takeConflict returns the conflict that the transaction has noted, and forgets it.
func (st *txState) takeConflict() conflict {
	c := st.conflict
	st.conflict = conflict{}
	return c
}
