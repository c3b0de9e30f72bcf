package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

var (
	// ErrOutcomeUnknown is the error of [DB.Update] if etcd could not be asked, for
	// [Config.ResolveTimeout], whether a transaction was committed: it was, may still be, or never
	// will be. No other error of Update leaves that open. It is an [*UnknownError], which says so
	// later. A process that was cut off between the commit and its own view of that returns it as
	// well, and says that it was committed. A program that is to try again after its own end has
	// each transaction write a record under a key of its own, the same in each try, and do nothing
	// if that is there already.
	ErrOutcomeUnknown = errors.New("etcd: it is not known whether the transaction was committed")

	// ErrHistoryLost says that the cluster no longer has a commit that this replica has seen: it
	// was restored from a backup, say, or is another one. The replica has failed, see [DB.Err].
	ErrHistoryLost = errors.New("etcd: the cluster has lost commits that this replica has seen")

	// ErrClosed is the error of methods after [DB.Close].
	ErrClosed = errors.New("etcd: the database is closed")

	// ErrUnanswered says that nothing was committed, for one of three reasons. No attempt of an
	// Update was answered, and each was then found to have had no effect. Or etcd had answered
	// nothing for [Config.RequestTimeout] and ResolveTimeout together, so nothing was sent. Or Sync
	// could not ask. The error comes with the reason of the last attempt.
	ErrUnanswered = errors.New("etcd: no request was answered")

	// ErrNoSpace says that the cluster is full, see --quota-backend-bytes: nothing was committed.
	ErrNoSpace = errors.New("etcd: the cluster is out of space, see --quota-backend-bytes")
)

// An UnknownError is an [ErrOutcomeUnknown] of a transaction, for whose outcome the replica goes on
// to ask, while it is open.
type UnknownError struct {
	settled   chan struct{} // closed once the rest is set
	committed bool
	err       error
}

func (e *UnknownError) Error() string { return ErrOutcomeUnknown.Error() }

// Unwrap returns [ErrOutcomeUnknown].
func (e *UnknownError) Unwrap() error { return ErrOutcomeUnknown }

// Wait waits until etcd has answered whether the transaction was committed: if not it never will
// be. [DB.Sync] has this process apply it. The error is that of ctx, which ends only the wait; of
// [DB.Err], where the replica was closed before, or the cluster has lost commits; or
// [ErrOutcomeUnknown] where the process stood still for so long that nobody can tell, see
// [Config.SlotAge].
func (e *UnknownError) Wait(ctx context.Context) (committed bool, err error) {
	select {
	case <-e.settled:
		return e.committed, e.err
	case <-ctx.Done():
		return false, ended(ctx)
	}
}

// A ConflictError says that a transaction has run MaxAttempts times, of its options or [Config], and
// that others wrote a record that it had read each time: nothing was committed. It wraps
// [mvcc.ErrConflict].
type ConflictError struct {
	Attempts int
	// Revision is that of the newest commit when the last attempt failed.
	Revision uint64
	// Table and Key name a record that the last attempt has read and was written since, as far as
	// is known here: Key is nil if it is not, or was in a range; Table then is one that was read.
	Table string
	Key   any
	_     struct{}
}

func (e *ConflictError) Error() string {
	where := ""
	if e.Table != "" {
		where = fmt.Sprintf(" over table %q", e.Table)
	}
	if e.Key != nil {
		where += fmt.Sprintf(", key %v", e.Key)
	}
	return fmt.Sprintf("etcd: %v%s: %d attempts, the last one against revision %d", mvcc.ErrConflict, where,
		e.Attempts, e.Revision)
}

// Unwrap returns [mvcc.ErrConflict].
func (e *ConflictError) Unwrap() error { return mvcc.ErrConflict }

// A TooLargeError says that a transaction is larger than the servers, or the client, allow: nothing
// was committed. If it is larger than Config says it was not sent; otherwise it comes with the
// refusal.
type TooLargeError struct {
	// Ops is how many records it writes, with one for each table and one for the outcome, or how
	// many things it compares, if these are more, and Bytes about how long the request would be.
	// Of Ops Records are records that it writes: see [InParts].
	Ops, Bytes, Records int
	// MaxOps and MaxBytes are [Config.MaxTxnOps] and [Config.MaxRequestBytes].
	MaxOps, MaxBytes int
	_                struct{}
}

func (e *TooLargeError) Error() string {
	switch {
	case e.Ops <= e.MaxOps && e.Bytes <= e.MaxBytes:
		return fmt.Sprintf("etcd: the transaction, of %d operations and about %d bytes, was refused as too "+
			"large: the servers or Config.Client allow less than Config.MaxTxnOps, %d, or "+
			"Config.MaxRequestBytes, %d", e.Ops, e.Bytes, e.MaxOps, e.MaxBytes)
	case e.Ops > e.MaxOps:
		return fmt.Sprintf("etcd: the transaction writes %d records, and has %d operations, and --max-txn-ops "+
			"of the servers (Config.MaxTxnOps) is %d: see InParts", e.Records, e.Ops, e.MaxOps)
	}
	return fmt.Sprintf("etcd: the transaction has about %d bytes, and --max-request-bytes of the servers "+
		"(Config.MaxRequestBytes) is %d", e.Bytes, e.MaxBytes)
}

// A VersionError says that a server loses data in ways that later versions do not: Open refuses it.
type VersionError struct {
	Endpoint, Version string
	// Want are the oldest versions that will do.
	Want string
	// Why names the faults.
	Why string
	_   struct{}
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("etcd: the server at %s has version %s, want %s or newer: %s", e.Endpoint,
		e.Version, e.Want, e.Why)
}

// A SchemaError says that the program cannot go on with the tables kept under the prefix: it has
// another encoding, would lose something of the values, or does not take their version.
type SchemaError struct {
	Table string // "" if it is about all of it
	// Kept is the format, version, encoding or type that is there, and Want that of the program.
	Kept, Want string
	// Err says more: a [*durable.SchemaError], with the losses, or a [*durable.VersionError]; or
	// nil.
	Err error
	_   struct{}
}

func (e *SchemaError) Error() string {
	if e.Table == "" {
		return fmt.Sprintf("etcd: what is kept under the prefix has %s, want %s", e.Kept, e.Want)
	}
	s := fmt.Sprintf("etcd: table %q is kept as %s, and the program has %s", e.Table, e.Kept, e.Want)
	var types *durable.SchemaError
	if !errors.As(e.Err, &types) {
		return s
	}
	return s + ": " + strings.Join(types.Lost, "; ") + ": see TableOptions.AnyShape and Config.Rolling"
}

// Unwrap returns Err.
func (e *SchemaError) Unwrap() error { return e.Err }

// A CodecError says that a record could not be encoded, or that its bytes cannot be decoded: nothing
// was committed. See [Table.Broken] for records that are kept and cannot be decoded.
type CodecError struct {
	Table string
	// Name is the key in etcd, without the prefix and the table.
	Name string
	Err  error
	_    struct{}
}

func (e *CodecError) Error() string {
	return fmt.Sprintf("etcd: table %q, key %q: %v", e.Table, e.Name, e.Err)
}

// Unwrap returns Err.
func (e *CodecError) Unwrap() error { return e.Err }

// An IndexError says that two processes do not agree on an index: this process finds that a record
// has entered or left an index key, and the process that committed the change did not find so. The
// function of the index is another one there, or does not return the same for the same record. The
// replica has failed, see [DB.Err]. An index whose function changes gets another name.
type IndexError struct {
	Table, Index string
	Key          any // of the index
	_            struct{}
}

func (e *IndexError) Error() string {
	return fmt.Sprintf("etcd: index %q of table %q: a record has entered or left index key %v, and the "+
		"process that has written it has not found that: give an index with another function another name",
		e.Index, e.Table, e.Key)
}

// definite reports whether an error of a request says that it has not been applied, and never will
// be. [rpctypes.ErrNoSpace] is none: the request that fills the cluster is applied, and fails.
func definite(err error) bool {
	for _, e := range []error{rpctypes.ErrTooManyOps, rpctypes.ErrRequestTooLarge,
		rpctypes.ErrTooManyRequests, rpctypes.ErrDuplicateKey, rpctypes.ErrEmptyKey,
		rpctypes.ErrPermissionDenied, rpctypes.ErrUserEmpty, rpctypes.ErrInvalidAuthToken,
		rpctypes.ErrAuthFailed, rpctypes.ErrAuthOldRevision, errPassword} {
		if isRPC(err, e) || errors.Is(err, e) {
			return true
		}
	}
	return false
}

// unanswered reports whether an error says that a member has not answered, or cannot for now.
func unanswered(err error) bool {
	if err == nil {
		return false
	}
	s, rpc := status.FromError(err)
	code := s.Code()
	var of rpctypes.EtcdError
	if errors.As(err, &of) {
		rpc, code = true, of.Code()
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		rpc && slices.Contains([]codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Canceled,
			codes.Aborted, codes.Internal, codes.Unknown}, code)
}

// ofCluster reports whether an error of Update says that the cluster commits nothing now, and is
// not about the transaction.
func ofCluster(err error) bool {
	var large *TooLargeError
	var of rpctypes.EtcdError
	return errors.Is(err, ErrNoSpace) || errors.Is(err, ErrUnanswered) || unresolved(err) ||
		errors.As(err, &of) && !errors.As(err, &large)
}

// overLimit reports whether an error says that a message was larger than gRPC allows. Which one is
// not known: the answer to a request that was applied may be.
func overLimit(err error) bool {
	s, ok := status.FromError(err)
	return ok && s.Code() == codes.ResourceExhausted && strings.Contains(s.Message(), "larger than max")
}

// isRPC reports whether an error of the client is one of the server's.
func isRPC(err, want error) bool {
	return err != nil && rpctypes.Error(err) == want
}
