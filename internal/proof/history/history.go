package history

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A Kind is that of the values of a history, and so the way of its check.
type Kind string

const (
	// KindAppend: the value of a key is a list of ints, no two of which are the
	// same. A write appends one; a read returns the list, and with it the order
	// of all versions up to there. An absent key is the empty list.
	KindAppend Kind = "append"
	// KindOneKey: the value of a key is an int, or absent, mostly written and read by
	// one-key operations. No two writes of a key write the same value, and all transactions
	// are serializable. Each key is looked at alone.
	KindOneKey Kind = "onekey"
)

// Kinds returns all kinds of histories.
func Kinds() []Kind { return []Kind{KindAppend, KindOneKey} }

// A Level is the promise of one transaction.
type Level string

const (
	LevelSerializable Level = "serializable" // its reads and writes are at one moment
	// LevelSnapshot: its reads are at one moment and its writes at a later one.
	// No other transaction writes a key that it writes in between.
	LevelSnapshot Level = "snapshot"
	// LevelOneKey: an operation on one key, outside of any transaction. Its promise is that of
	// a serializable transaction.
	LevelOneKey Level = "one-key"
)

// A Status is how a transaction ended.
type Status string

const (
	StatusCommitted Status = "committed" // as was reported
	StatusAborted   Status = "aborted"   // no other may ever have seen its writes
)

// An OpKind is the kind of an operation of a transaction.
type OpKind string

const (
	OpRead   OpKind = "read"
	OpAppend OpKind = "append" // Value, to the list of a key (KindAppend)
	// OpMerge appends as well (KindAppend): to the list as it is when the transaction
	// commits, whatever the transaction has read.
	OpMerge  OpKind = "merge"
	OpWrite  OpKind = "write"  // set a key to Value (KindOneKey)
	OpDelete OpKind = "delete" // (KindOneKey)
	OpOther  OpKind = "other"  // a compare-and-swap found something else than Value (KindOneKey)
)

// opKinds are the operations of each kind of history.
var opKinds = map[Kind][]OpKind{
	KindAppend: {OpRead, OpAppend, OpMerge},
	KindOneKey: {OpRead, OpWrite, OpDelete, OpOther},
}

// writes reports whether the operation changes the key.
func (k OpKind) writes() bool { return k.appends() || k == OpWrite || k == OpDelete }

// appends reports whether the operation appends to a list.
func (k OpKind) appends() bool { return k == OpAppend || k == OpMerge }

// An Op is one operation of a transaction.
type Op struct {
	Kind OpKind `json:"f"`
	Key  int    `json:"k"`
	// Value was written or appended. Of a read without lists it is the value read, if Present.
	Value   int  `json:"v,omitempty"`
	Present bool `json:"p,omitempty"`
	// Update means that the value that was read must be there when the transaction commits, too.
	Update bool `json:"u,omitempty"`
	// List is the list that was read in append histories. Lists may share memory, and
	// must not be changed.
	List []int `json:"l,omitempty"`
}

// A Tx is one transaction, or one operation outside of any. A comes before B in real time if the
// End of A is less than the Begin of B.
type Tx struct {
	ID      int    `json:"id"`      // unique in the history
	Process int    `json:"process"` // the goroutine that ran it
	Level   Level  `json:"level"`
	Status  Status `json:"status"`
	Begin   int64  `json:"begin"` // by one monotonic clock, before it was begun
	End     int64  `json:"end"`   // after its commit, or rollback, had returned
	// Epoch is the read epoch, if known: nothing is checked by it, but it helps to explain
	// an anomaly.
	Epoch uint64 `json:"epoch,omitempty"`
	Ops   []Op   `json:"ops"` // in order; a read of a key that it has written is of its own write
}

// A History is a set of concurrent transactions with their reads and writes. The order
// of Txs has no meaning.
type History struct {
	Kind Kind
	Txs  []Tx
}

// Config says which operations to record. A count that is zero means its default; a
// percentage that is zero means never. [Mixed] has some of everything.
type Config struct {
	Kind    Kind
	Workers int    // goroutines; default: 8
	Txs     int    // of all workers together, one-key operations included; default: 10,000
	Keys    int    // in use at a time; default: 6
	MaxOps  int    // keys that a transaction touches at most; default: 4
	Seed    uint64 // of the random choices; the same seed is not the same schedule

	// Percentages.
	OneKey   int // of the operations: one-key operations
	ReadOnly int // of the operations: views and snapshots; the rest is never nothing
	Snapshot int // of transactions that may write: run at LevelSnapshot
	Scan     int // of transactions and views: read the whole map
	Write    int // of operations: write; default: 50
	// Past is of committed transactions and views: the state at their epoch is read again some time
	// later, if it is still there; see Options.Retain.
	Past int
	// Delete is of writes: delete the key. In append histories the list moves: it is
	// kept under one of two keys of the map, is deleted there and stored under the other.
	Delete int

	// Tables keeps lists in two ordered tables of a database, one of which has an index, and scans
	// ranges. A list moves from one table to the other.
	Tables bool

	// Options are those of the map. By default versions are dropped as soon as
	// they may be.
	Options *mvcc.Options
}

// Mixed returns a configuration with everything in it that the kind may have.
func Mixed(kind Kind, seed uint64) Config {
	cfg := Config{Kind: kind, Seed: seed, OneKey: 25, ReadOnly: 20, Snapshot: 30, Scan: 5, Delete: 15}
	if kind == KindOneKey {
		cfg = Config{Kind: kind, Seed: seed, OneKey: 80, ReadOnly: 5, Delete: 20, Keys: 3, MaxOps: 2}
	}
	cfg.Past = 5
	return cfg
}

// Record makes a map, has goroutines run the operations of cfg on it, and returns the
// history. The goroutines share nothing but the map: each keeps its records for itself,
// and stamps them with one monotonic clock. If ctx ends Record stops early, and the
// history is shorter. It returns an error if the map panics, or fails in a way that no
// history shows.
func Record(ctx context.Context, cfg Config) (*History, error) {
	cfg.Workers = cmp.Or(cfg.Workers, 8)
	cfg.Txs = cmp.Or(cfg.Txs, 10_000)
	cfg.Keys = cmp.Or(cfg.Keys, 6)
	cfg.MaxOps = min(cmp.Or(cfg.MaxOps, 4), cfg.Keys)
	cfg.Write = cmp.Or(cfg.Write, 50)
	if cfg.Options == nil {
		cfg.Options = &mvcc.Options{ReclaimInterval: time.Millisecond, PruneThreshold: 2}
	}
	if cfg.Kind == KindAppend {
		place, err := newLists(&cfg)
		if err != nil {
			return nil, err
		}
		return run(ctx, cfg, place, newListDialect)
	}
	if cfg.Tables {
		return nil, errors.New("history: Tables is for lists")
	}
	m := mvcc.New[int, int](cfg.Options)
	return run(ctx, cfg, &space[int]{maps: [2]*mvcc.Map[int, int]{m, m}}, newRegisters)
}
