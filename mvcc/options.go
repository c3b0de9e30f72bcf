package mvcc

import (
	"context"
	"fmt"
	"log/slog"
	"math/bits"
	"time"

	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/debug/trial"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// A Level is an isolation level.
type Level uint8

const (
	// LevelDefault is the level of the [Options], by default LevelSerializable.
	LevelDefault Level = iota
	// LevelSerializable is strict serializability, see the package's Guarantees.
	LevelSerializable
	// LevelSnapshot is snapshot isolation: write skew is possible.
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

// Options configures a map, or a database with its tables.
type Options struct {
	// Capacity is for how many keys the index has room at first, at 14 bytes or more each: at most
	// 2^40, or 2^24 on a machine of 32 bits. Ordered maps ignore it.
	Capacity int

	// Isolation is the level of transactions that ask for none. Default: LevelSerializable.
	Isolation Level

	// ReclaimInterval is the time between two ticks of the background work, which drops versions
	// that nobody can see. Default: 100 ms.
	ReclaimInterval time.Duration

	// ReclaimWorkers is how many goroutines prune at a tick. Negative: committers prune, two
	// buckets of keys for each that they add when more than 64 wait. Default: 1.
	ReclaimWorkers int

	// ReclaimQueue is how many buckets of keys may wait for the next visit; others wait for the
	// next tick, and when 64 times as many do, committers prune two for each that they add. At most
	// 2^24. Default: 16384.
	ReclaimQueue int

	// PruneThreshold is how many new versions of a key make its committer prune it; 1 to 63. Lower
	// means shorter chains, and more work for writers. Default: 16.
	PruneThreshold int

	// ManualReclaim: there are no background goroutines, and the program calls [Map.Reclaim] now
	// and then. Until then committers prune when the queue is full; nothing is evicted or warned
	// of.
	ManualReclaim bool

	// MaxTxAge is the age at which an open transaction or snapshot of the program is evicted, see
	// [ErrTxTooOld]: its versions are dropped. Calls such as Load or Clear have no limit. Ages
	// count from the first tick that sees a transaction: it may become some ReclaimIntervals older.
	// While the background work is at rest, time may stand still. Default: no limit.
	MaxTxAge time.Duration

	// Retain is how long the map keeps its history, for [Map.SnapshotAt] and [History]: up to an
	// eighth and some ReclaimIntervals longer. Each version takes its memory for so long, and a
	// read of an old epoch walks over the later versions of its key. There is a tick each
	// ReclaimInterval also at rest.
	Retain time.Duration

	// Logger is told, at level Warn and once each, of the program's transactions and snapshots that
	// have been open for PinWarnAge or are evicted, of 64 in a round at most, and of none that is
	// evicted during a call. A goroutine of its own calls it, or [Map.Reclaim]: it must not call
	// Reclaim or Close. A journal logs its errors and long loads with it, or with slog.Default.
	Logger *slog.Logger

	// PinWarnAge is for Logger. Default: a minute.
	PinWarnAge time.Duration

	// Observe is told of each attempt of each [Map.Update], [UpdateValue] and [DB.Update], except
	// one whose context had ended before. The goroutine of the Update calls it when the
	// attempt holds nothing any more: a commit stays if Observe panics. It costs three readings of
	// the clock and some allocations an Update.
	Observe func(Attempt)

	// Around is called as each Update begins, and after, if it is not nil, when it ends, also by a
	// panic, in the same goroutine. The Update runs with inside, which is ctx or derived from it.
	// tx is TxOptions.Name; table is "" for a database or a map by itself. It costs some
	// allocations an Update. Package [github.com/mvccmap/mvccmap/profiling] uses it.
	Around func(ctx context.Context, tx, table string) (inside context.Context, after func())

	// Strict is for tests: it shows mistakes that are not noticed otherwise, at a cost;
	// docs/misuse.md has a list. The function of [Map.Update] runs twice, first in a transaction
	// that is rolled back, unless MaxAttempts is 1; so do those of Compute and DeleteFunc. It is a
	// panic if a function of Merge, an index, Expire, Match or compare does not return the same for
	// the same, or uses the database; if that of an Update uses the database beside its
	// transaction; if that of a [Map.View] reads beside its snapshot; if a loop over a Watch goes
	// on after the error. Every eighth Commit by hand that could conflict does.
	//
	// A value that was changed after it was stored is a panic of the call that writes over it, or
	// of Close, with the record, the place in the value and the call that stored it. That includes
	// all that the value leads to, up to 16,384 numbers, strings and pointers, and the memory
	// between length and capacity of its slices. It leaves out structs that others may change:
	// those with a lock (methods Lock and Unlock) or a pointer to one, a type of package sync,
	// sync/atomic or xsync, a channel, or an embedded pointer to such a struct.
	Strict bool

	// TracePins notes for Logger where each transaction and snapshot began, at about a microsecond
	// and two allocations.
	TracePins bool

	trial *trial.TestHooks // see package mvcctest

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

// roomFor returns for how many keys to make room: none if the keys have an order, by.
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

// TxOptions configures one transaction.
type TxOptions struct {
	// Isolation is the level. Default: the map's or database's.
	Isolation Level

	// MaxAttempts is how often [Map.Update] runs its function at most. Default: 100. Begin ignores
	// it.
	MaxAttempts int

	// Name is for [Options.Observe] and [Options.Around].
	Name string

	own    bool         // not set apart: the library's own, or in a strict Update
	kind   uint64       // of its transactions: forProgram or forCall
	long   bool         // see bid
	inside bool         // called within an Around
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

func (o *TxOptions) name() string {
	if o == nil {
		return ""
	}
	return o.Name
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
