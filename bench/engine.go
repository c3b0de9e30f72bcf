package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// An Engine is a map under test with string keys and values of type V, which is uint64 or
// []byte, already filled. It need not support deletion or new keys, see [EngineSpec]. It may be a [Versioner], too.
type Engine[V any] interface {
	// Session returns what goroutine number worker works with; it is called before
	// the goroutines start, and -1 asks for one for the runner itself.
	Session(worker int) Session[V]
	// Close ends what the engine has running. No session is used afterwards.
	Close()
}

// A Versioner is an engine that can say how many versions of values it holds.
type Versioner interface {
	// Versions returns the number of versions, those of one key counted apart.
	// It is called by any goroutine, a hundred times a second at most.
	Versions() int
}

// A Session is one goroutine's access to an [Engine]. Each of its methods is one
// transaction, retried until it has committed. An error, which must not be a mere
// conflict, ends the run as failed; [ErrStopped] does so silently. Beside the
// methods here it may have those of [Incrementer], [Beginner], [Transferer],
// [Batcher], [Pinner] and [Follower], which some workloads need.
//
// A byte slice that is put is new and is never written to again: the map may keep it. One that was
// got is not written to either.
//
// A method should allocate no more than a user of the map would: the harness allocates nothing but
// the byte slices that are put, and all else in B/op and allocs/op counts as the map's.
type Session[V any] interface {
	// Get reads one key. An absent key gives ok == false.
	Get(key string) (value V, ok bool, err error)
	// Put writes one key.
	Put(key string, value V) error
	// Aborts returns the number of attempts, over the life of the session, that did
	// not commit and were made again. It is called while no method is running.
	Aborts() uint64
}

// An Incrementer is a [Session] that can increment a counter. Add is called only if values are
// numbers.
type Incrementer interface {
	// Add adds delta to the value of key and returns the sum.
	Add(key string, delta uint64) (sum uint64, err error)
}

// A Beginner is a [Session] that has transactions, and so can begin and end one
// without doing anything in it.
type Beginner interface {
	// Begin begins a read-only transaction and ends it.
	Begin() error
}

// A Transferer is a [Session] that has transactions over several keys. Its methods are called only
// if values are numbers.
type Transferer interface {
	// Transfer reads both keys, subtracts amount from the value of from and adds it
	// to that of to, modulo 2^64. The keys differ.
	Transfer(from, to string, amount uint64) error
	// Sum adds up all values, modulo 2^64, and counts the keys, as of one moment.
	Sum() (total uint64, keys int, err error)
}

// A Batcher is a [Session] that has transactions over any number of keys.
type Batcher[V any] interface {
	// Batch does ops in one transaction, in their order, each seeing what those before it have
	// written, and fills in what they have read, which must be so of the attempt that has committed.
	// readOnly says that none of them writes. The caller uses the slice again.
	Batch(ops []Op[V], readOnly bool) error
}

// An OpKind says what an [Op] does.
type OpKind uint8

// The kinds of operations within a transaction.
const (
	OpGet    OpKind = iota // read Key into Old and OK
	OpHas                  // say in OK whether Key is there
	OpPut                  // write Value to Key, there or not
	OpModify               // read Key into Old and OK, then write Value to it
	OpDelete               // delete Key, there or not
)

// An Op is a read or write within a transaction.
type Op[V any] struct {
	Kind  OpKind
	OK    bool // set: whether Key was there
	Key   string
	Value V // what to write
	Old   V // set: what was read
}

// A Ranger is a [Session] that can read keys in their order, which is that of strings. Range is
// called only if [Setup.Ordered] is set.
type Ranger[V any] interface {
	// Range calls visit for the n lowest keys that are not below low, or as many as there are, from
	// the lowest to the highest, with their values as of one moment. It visits no key twice.
	Range(low string, n int, visit func(key string, value V)) error
}

// A Swapper is a [Session] that can write one key and say what was there.
type Swapper[V any] interface {
	// Swap writes one key, there or not, and returns what it had.
	Swap(key string, value V) (old V, ok bool, err error)
}

// A Deleter is a [Session] that can delete one key by itself.
type Deleter interface {
	// Delete deletes one key, there or not.
	Delete(key string) error
}

// A Pinner is a [Session] that can keep a snapshot open.
type Pinner[V any] interface {
	// Pin opens a snapshot of the map as it is.
	Pin() (Pin[V], error)
}

// A Pin is a snapshot that is open. One goroutine at a time uses it.
type Pin[V any] interface {
	// Get reads one key as of when the snapshot was opened.
	Get(key string) (value V, ok bool, err error)
	// Close closes it. It is called once.
	Close()
}

// Isolation is a level of isolation, for engines that have more than one.
type Isolation string

// The levels of isolation. Every workload is correct at either.
const (
	Serializable Isolation = "serializable"
	Snapshot     Isolation = "snapshot"
)

// Setup is what an [Engine] is made from.
type Setup[V any] struct {
	Keys   []string // all keys there are at first; those that some workloads delete come back
	Values []V      // their first values, in the same order

	// Ordered says that the sessions are asked for ranges, see [Ranger].
	Ordered bool
	// Kept says that a session is asked to keep what is committed, see [Keeper].
	Kept bool

	// Isolation is the level of read-write transactions, for engines that have a
	// choice. It is never empty.
	Isolation Isolation

	// Map sets how the transactional map reclaims, for the engines that are one.
	Map MapOptions

	Limits
}

// Limits say how long a session attempts an operation.
type Limits struct {
	// Attempts is how often, at most, until it commits; then the session returns
	// ErrGaveUp. Zero means without end.
	Attempts int

	// Stopped reports that the run is over. A session that retries without end must
	// ask it now and then, and give up with ErrStopped.
	Stopped func() bool
}

// Over returns why there is no further attempt at an operation after so many, or nil.
func (l *Limits) Over(attempts int) error {
	switch {
	case attempts == l.Attempts:
		return ErrGaveUp
	case l.Stopped():
		return ErrStopped
	}
	return nil
}

// ErrStopped is returned by a method of a [Session] that has given up because the run
// is over.
var ErrStopped = errors.New("bench: stopped")

// ErrGaveUp is returned by a method of a [Session] that has made as many attempts as
// [Limits] allow, none of which has committed. The operation is counted as an error and
// the run goes on.
var ErrGaveUp = errors.New("bench: gave up")

// Attempts counts the attempts and commits of a session that embeds it. It is padded:
// sessions of different goroutines must not share a cache line.
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

// MapOptions sets how the engines mvcc and mvcc-direct reclaim the versions that no reader can see.
// Every field that is zero means the map's default, so that the zero MapOptions is the map as its
// users get it. Engines that keep no versions take no notice of it.
type MapOptions struct {
	// Interval is the time between two looks of the background work at which
	// epochs are being read.
	Interval time.Duration

	// Workers is the number of goroutines that prune in the background. 0 is the default; [NoWorkers]
	// is none, so that committers prune.
	Workers int

	// Queue is how many buckets of the index may wait to be pruned; when so many do,
	// committers prune.
	Queue int

	// Threshold is after how many new versions of a key its committer prunes it
	// without waiting for the background work, from 1 to MaxThreshold.
	Threshold int
}

// NoWorkers is the value of [MapOptions.Workers] for a map without goroutines
// that prune in the background.
const NoWorkers = -1

// MaxThreshold is the largest [MapOptions.Threshold].
const MaxThreshold = 63

// Validate returns an error that names the first field that has no meaning, and
// what was expected of it.
func (o MapOptions) Validate() error {
	switch {
	case o.Interval < 0:
		return fmt.Errorf("bench: MapOptions.Interval is %v; expected a time above 0, or 0 for the "+
			"default", o.Interval)
	case o.Workers < NoWorkers:
		return fmt.Errorf("bench: MapOptions.Workers is %d; expected a number of goroutines, 0 for the "+
			"default, or NoWorkers", o.Workers)
	case o.Queue < 0:
		return fmt.Errorf("bench: MapOptions.Queue is %d; expected a number of buckets of the index, "+
			"or 0 for the default", o.Queue)
	case o.Threshold < 0 || o.Threshold > MaxThreshold:
		return fmt.Errorf("bench: MapOptions.Threshold is %d; expected a number from 1 to %d, or 0 for "+
			"the default", o.Threshold, MaxThreshold)
	}
	return nil
}

// options returns o in the map's own terms, for a map of so many keys.
func (o MapOptions) options(keys int, isolation Isolation) *mvcc.Options {
	level := mvcc.LevelSerializable
	if isolation == Snapshot {
		level = mvcc.LevelSnapshot
	}
	return &mvcc.Options{
		Capacity:        keys,
		Isolation:       level,
		ReclaimInterval: o.Interval,
		ReclaimWorkers:  o.Workers,
		ReclaimQueue:    o.Queue,
		PruneThreshold:  o.Threshold,
	}
}
