package mvcc

import (
	"context"
	"fmt"
	"log/slog"
	"math/bits"
	"time"

	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/chain"
	"github.com/mvccmap/mvccmap/internal/trial"
)

// A Level is an isolation level.
type Level uint8

const (
	// LevelDefault is the level of the [Options] of the map or database, which by default is
	// LevelSerializable.
	LevelDefault Level = iota
	// LevelSerializable: the serializable transactions and one-key operations of a map, or of
	// all tables of a database, behave as if they ran one at a time, in an order that agrees
	// with real time (strict serializability).
	LevelSerializable
	// LevelSnapshot: a transaction reads as of its begin, and of two concurrent
	// ones that write the same key, having read anything, only one commits.
	// Write skew is possible.
	LevelSnapshot
)

// String returns "default", "serializable" or "snapshot".
func (l Level) String() string {
	switch l {
	case LevelDefault:
		return "default"
	case LevelSerializable:
		return "serializable"
	case LevelSnapshot:
		return "snapshot"
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// Defaults of [Options] and [TxOptions].
const (
	DefaultReclaimInterval = gc.DefaultInterval
	DefaultReclaimWorkers  = 1
	DefaultReclaimQueue    = gc.DefaultQueue
	DefaultPruneThreshold  = 16
	DefaultPinWarnAge      = gc.DefaultWarnAge
	DefaultMaxAttempts     = 100
)

// Options configures a map, or a database with its tables. A nil *Options, and every field
// that is zero, means the default.
type Options struct {
	// Capacity presizes the index for so many keys, 14 bytes or more for each; up to 2^40, or 2^24
	// on a machine of 32 bits. The index of keys with an order takes no room before it is needed.
	Capacity int

	// Isolation is the level of transactions that do not ask for one
	// themselves. Default: LevelSerializable.
	Isolation Level

	// ReclaimInterval is how often the background work looks which epochs are
	// being read and drops the versions that nobody can see. Longer means
	// that versions of keys which are no longer written stay for longer;
	// keys that are written are pruned by their writers. Default: 100 ms.
	ReclaimInterval time.Duration

	// ReclaimWorkers is how many goroutines prune at a tick. Negative means that
	// committers do it: when more than 64 buckets of keys wait, a committer prunes two
	// for each that it adds, and a tick what they have left. Default: 1.
	ReclaimWorkers int

	// ReclaimQueue is how many buckets of the index, of some keys each, may be handed to
	// the background work at a time. When it is full, committers move buckets from it to
	// the list of the next tick; when 64 times as many are there, they prune two for each
	// that they add. Memory is taken as it fills. At most 2^24.
	// Default: 16384.
	ReclaimQueue int

	// PruneThreshold is after how many new versions of a key their committer
	// prunes it, without waiting for the background work; 1 to 63. Lower
	// means shorter chains, and more work for writers of hot keys.
	// Default: 16.
	PruneThreshold int

	// ManualReclaim means that the map has no background goroutines: what they do is done by
	// [Map.Reclaim], which the program has to call now and then. Keys to be pruned are queued as
	// usual, and pruned by committers when the queue is full. Ages, warnings and evictions happen
	// in Reclaim only. Default: false.
	ManualReclaim bool

	// MaxTxAge is after how long an open transaction or snapshot is evicted: the
	// versions that it keeps are dropped, and it fails with [ErrTxTooOld] when
	// it is used next, before it can see that they are gone. That is for those of the
	// program: what the library opens for one call, such as Load, Save, Clear, NewIndex or
	// a journal's backup, takes as long as it takes. Ages are measured
	// by the background work and count from the first time it sees a
	// transaction, so it may become older by some ReclaimIntervals; the clock is
	// the monotonic one. While the background work is at rest, time may stand
	// still. Default: 0, no limit.
	MaxTxAge time.Duration

	// Retain is for how long the map keeps its history: what was the newest state at any
	// moment of that time can be read by [Map.SnapshotAt], and is in the
	// [History] of a key. It is kept for up to an eighth and some ReclaimIntervals longer. The
	// background work looks at the clock each ReclaimInterval, also if nothing is written. Every version that is written takes its memory for so long, and a
	// read as of an old epoch walks over the versions that its key has got since. Default:
	// 0, nothing is kept for later.
	Retain time.Duration

	// Logger is told, at level Warn and once each, of transactions and snapshots
	// that have been open for PinWarnAge, and of those that are evicted: read
	// epoch, age and, if TracePins is set, where they began; of 64 in a round at
	// most, and of none that is evicted while a call is under way. Ticks call it
	// in a goroutine of its own, so it may take its time; [Map.Reclaim] calls it
	// itself and waits for it, so it must not call Reclaim or Close. A journal tells it of errors,
	// see package journal. Default: nil, nobody is told, but for journals.
	Logger *slog.Logger

	// PinWarnAge is from what age on Logger is told. Default: a minute.
	PinWarnAge time.Duration

	// Observe is told of each attempt of each [Map.Update], [UpdateValue] and [DB.Update], by the
	// goroutine that made it, when it has ended and holds nothing any more: for traces, metrics and
	// logs. Update waits for it. If it panics so does Update, but what was committed stays. It
	// costs three readings of the clock and some allocations an Update, and nothing if it is nil.
	// Not observed are transactions by Begin, views, one-key operations, and an Update whose context
	// had ended before. Default: nil.
	Observe func(Attempt)

	// Around is called for each [Map.Update], [UpdateValue] and [DB.Update], and must call run, once,
	// in the same goroutine, before it returns: all that the Update does happens in that call. tx is
	// TxOptions.Name, and table the table, "" for the whole database or a map by itself. run takes
	// ctx, or one derived from it. So profiles can be labelled: see LabelUpdate of package
	// [github.com/mvccmap/mvccmap/profiling]. If Around panics so does Update. It costs the call and
	// some allocations an Update, and nothing if it is nil. Default: nil.
	Around func(ctx context.Context, tx, table string, run func(ctx context.Context))

	// Strict is for tests: it makes mistakes show that are not noticed otherwise, at a cost. What
	// the program gives the library runs twice: the function of [Map.Update] in a transaction that
	// is rolled back first, as if after a conflict, unless MaxAttempts is 1; that of Compute, and
	// of DeleteFunc; and those that must return the same for the same, Merge, an index, Expire,
	// Match and compare, panic if they do not, or if they use the database. In the function of
	// Update or [DB.Update] it panics to use a map or table of the database itself instead of the
	// transaction, and in that of [Map.View] to read one. Of the Commits by hand that could
	// conflict every eighth does. A loop over a Watch panics that goes on after the error.
	//
	// A value that was changed after it was stored is a panic of the call that writes over it, or of
	// Close, and names the record, the place in the value and where it was stored. All that a value
	// leads to is part of it, and so is the memory between the length and the capacity of its slices:
	// a part of a larger buffer is stored as slices.Clip of it. Looked at are the first 16,384 numbers,
	// strings, pointers and the like of a value. Left out, with all that they lead to, are structs
	// that others may change: those that have in them a lock (methods Lock and Unlock) or a pointer
	// to one, a type of package sync, sync/atomic or xsync, a channel, or such a struct that they
	// embed by pointer. (A plain number that a function of sync/atomic changes is not.)
	// No function of the program is called for this.
	//
	// Default: false, and then it costs nothing. Package mvcctest has more for tests.
	Strict bool

	// TracePins notes for every transaction and snapshot where it began, for
	// Logger. It costs about a microsecond and two allocations each. Default:
	// false.
	TracePins bool

	trial *trial.Trial // see package mvcctest

	_ struct{}
}

// withDefaults returns a copy of o, which may be nil, with the defaults put in.
// It panics if a field has no meaning, naming the field.
func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.trial != nil {
		d.Strict, d.TracePins = true, true
	}
	checkCapacity("Options", d.Capacity)
	if d.Isolation > LevelSnapshot {
		panic(fmt.Sprintf("mvcc: Options.Isolation is %v, want LevelSerializable or LevelSnapshot",
			d.Isolation))
	}
	if d.Isolation == LevelDefault {
		d.Isolation = LevelSerializable
	}
	if d.ReclaimInterval < 0 {
		panic(fmt.Sprintf("mvcc: Options.ReclaimInterval is %v, want 0 or more", d.ReclaimInterval))
	}
	if d.ReclaimInterval == 0 {
		d.ReclaimInterval = DefaultReclaimInterval
	}
	if d.ReclaimWorkers == 0 {
		d.ReclaimWorkers = DefaultReclaimWorkers
	}
	if d.ReclaimQueue < 0 {
		panic(fmt.Sprintf("mvcc: Options.ReclaimQueue is %d, want 0 or more", d.ReclaimQueue))
	}
	if d.ReclaimQueue > maxReclaimQueue {
		panic(fmt.Sprintf("mvcc: Options.ReclaimQueue is %d, want at most %d", d.ReclaimQueue,
			maxReclaimQueue))
	}
	if d.ReclaimQueue == 0 {
		d.ReclaimQueue = DefaultReclaimQueue
	}
	if d.PruneThreshold < 0 || d.PruneThreshold > chain.CountMax {
		panic(fmt.Sprintf("mvcc: Options.PruneThreshold is %d, want 0 to %d", d.PruneThreshold,
			chain.CountMax))
	}
	if d.PruneThreshold == 0 {
		d.PruneThreshold = DefaultPruneThreshold
	}
	if d.MaxTxAge < 0 {
		panic(fmt.Sprintf("mvcc: Options.MaxTxAge is %v, want 0 or more", d.MaxTxAge))
	}
	if d.Retain < 0 {
		panic(fmt.Sprintf("mvcc: Options.Retain is %v, want 0 or more", d.Retain))
	}
	if d.PinWarnAge < 0 {
		panic(fmt.Sprintf("mvcc: Options.PinWarnAge is %v, want 0 or more", d.PinWarnAge))
	}
	if d.PinWarnAge == 0 {
		d.PinWarnAge = DefaultPinWarnAge
	}
	return d
}

// More than these is taken for a mistake: it is more than there is memory for, or use.
const (
	maxCapacity     = 1 << (bits.UintSize/2 + 8)
	maxReclaimQueue = 1 << 24
)

// roomFor returns for how many keys a table is made for keys in an order, nil if they have none.
func (o *Options) roomFor(by *order) int {
	if by != nil {
		return 0
	}
	return o.Capacity
}

func checkCapacity(of string, capacity int) {
	if capacity < 0 {
		panic(fmt.Sprintf("mvcc: %s.Capacity is %d, want 0 or more", of, capacity))
	}
	if capacity > maxCapacity {
		panic(fmt.Sprintf("mvcc: %s.Capacity is %d, want at most %d", of, capacity, maxCapacity))
	}
}

// TxOptions configures one transaction. A nil *TxOptions, and every field that
// is zero, means the default.
type TxOptions struct {
	// Isolation is the level. Default: that of the map or database.
	Isolation Level

	// MaxAttempts is how often [Map.Update] runs its function before it gives
	// up and returns the last conflict. An attempt that gave way to another
	// transaction which had its turn counts as well. Default: 100. Begin ignores it.
	MaxAttempts int

	// Name is what [Options.Observe] and [Options.Around] are told of the transaction. Default:
	// none.
	Name string

	own    bool         // it is an Update of the library's own, or strict no more
	kind   uint64       // of its transactions: forProgram or forCall
	long   bool         // see bid
	inside bool         // an Around
	seen   *observation // of an Update that is observed
}

func (o *TxOptions) level(def Level) Level {
	if o == nil { // alone, so that this is inlined
		return def
	}
	return o.ownLevel(def)
}

func (o *TxOptions) ownLevel(def Level) Level {
	if o.Isolation == LevelDefault {
		return def
	}
	if o.Isolation > LevelSnapshot {
		panic(fmt.Sprintf("mvcc: TxOptions.Isolation is %v, want LevelSerializable or LevelSnapshot",
			o.Isolation))
	}
	return o.Isolation
}

func (o *TxOptions) of() uint64 {
	if o == nil {
		return forProgram
	}
	return o.kind
}

func (o *TxOptions) attempts() int {
	if o == nil {
		return DefaultMaxAttempts
	}
	return o.ownAttempts()
}

func (o *TxOptions) ownAttempts() int {
	if o.MaxAttempts == 0 {
		return DefaultMaxAttempts
	}
	if o.MaxAttempts < 0 {
		panic(fmt.Sprintf("mvcc: TxOptions.MaxAttempts is %d, want 0 or more", o.MaxAttempts))
	}
	return o.MaxAttempts
}
