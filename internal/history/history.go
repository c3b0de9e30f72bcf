package history

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A Kind says what the values of a history are, and so how it is checked.
type Kind string

const (
	// KindAppend: the value of a key is a list of ints, no two of which are the
	// same. A write appends one; a read returns the list, and with it the order
	// of all versions up to there. An absent key is the empty list.
	KindAppend Kind = "append"
	// KindRegister: the value of a key is an int, or absent. No two writes of a
	// key write the same value.
	KindRegister Kind = "register"
	// KindOneKey: the same, mostly written and read by one-key operations, and
	// all transactions are serializable. Each key is looked at alone.
	KindOneKey Kind = "onekey"
)

// Kinds returns all kinds of histories.
func Kinds() []Kind { return []Kind{KindAppend, KindRegister, KindOneKey} }

// A Level is what one transaction was promised.
type Level string

const (
	LevelSerializable Level = "serializable" // its reads and writes are at one moment
	// LevelSnapshot: its reads are at one moment and its writes at a later one.
	// No other transaction writes a key that it writes in between.
	LevelSnapshot Level = "snapshot"
	// LevelOneKey: an operation on one key, outside of any transaction. It is
	// promised what a serializable transaction is.
	LevelOneKey Level = "one-key"
)

// A Status is how a transaction ended.
type Status string

const (
	StatusCommitted Status = "committed" // as was reported
	StatusAborted   Status = "aborted"   // no other may ever have seen its writes
)

// An OpKind is what an operation of a transaction did.
type OpKind string

const (
	OpRead   OpKind = "read"
	OpAppend OpKind = "append" // Value, to the list of a key (KindAppend)
	// OpMerge appends as well (KindAppend): to the list as it is when the transaction
	// commits, whatever the transaction has read.
	OpMerge  OpKind = "merge"
	OpWrite  OpKind = "write" // set a key to Value
	OpDelete OpKind = "delete"
	OpOther  OpKind = "other" // a compare-and-swap found something else than Value (KindOneKey)
)

// opKinds are the operations of each kind of history.
var opKinds = map[Kind][]OpKind{
	KindAppend:   {OpRead, OpAppend, OpMerge},
	KindRegister: {OpRead, OpWrite, OpDelete},
	KindOneKey:   {OpRead, OpWrite, OpDelete, OpOther},
}

// writes reports whether the operation changes the key.
func (k OpKind) writes() bool { return k.appends() || k == OpWrite || k == OpDelete }

// appends reports whether the operation appends to a list.
func (k OpKind) appends() bool { return k == OpAppend || k == OpMerge }

// An Op is one operation of a transaction.
type Op struct {
	Kind OpKind `json:"f"`
	Key  int    `json:"k"`
	// Value is what was written or appended, or, if there are no lists and it is
	// Present, what was read.
	Value   int  `json:"v,omitempty"`
	Present bool `json:"p,omitempty"`
	// Update means that what was read must be there when the transaction commits, too.
	Update bool `json:"u,omitempty"`
	// List is what was read in append histories. Lists may share memory, and
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
	// Epoch is the read epoch, if known: nothing is checked by it, but it helps to find out
	// what happened.
	Epoch uint64 `json:"epoch,omitempty"`
	Ops   []Op   `json:"ops"` // in order; a read of a key that it has written is of its own write
}

// A History is what a set of concurrent transactions read and wrote. The order
// of Txs has no meaning.
type History struct {
	Kind Kind
	Txs  []Tx
}

// registers keeps a register under each key.
type registers struct{ cfg *Config }

func newRegisters(cfg *Config) dialect[int] { return &registers{cfg} }

func (d *registers) read(w *worker[int], t *txn, from mvcc.Reader[int, int], key int) {
	update := w.forUpdate(from)
	value, ok := w.get(t, from, key, key, update)
	t.note(OpRead, key, Version{value, ok})
	t.ops[len(t.ops)-1].Update = update
}

func (d *registers) readAll(_ *worker[int], t *txn, from mvcc.Reader[int, int]) {
	found := make([]bool, d.cfg.Keys)
	for key, value := range from.All() {
		t.note(OpRead, key, Version{value, true})
		found[key] = true
	}
	for key, ok := range found {
		if !ok {
			t.note(OpRead, key, Version{})
		}
	}
}

// write mostly reads what it overwrites: a blind write is hard to put in order.
func (d *registers) write(w *worker[int], t *txn, to mvcc.Tx[int, int], key int) {
	if t.Level == LevelSerializable && w.percent(15) {
		d.merge(w, t, to, key)
		return
	}
	if w.percent(80) {
		d.read(w, t, to, key)
	}
	if w.percent(d.cfg.Delete) {
		to.Delete(key)
		t.note(OpDelete, key, Version{})
		return
	}
	value := w.value()
	w.set(to, key, value)
	t.note(OpWrite, key, Version{Value: value})
	if w.percent(10) {
		d.read(w, t, to, key) // its own write
	}
}

// merge writes by a merge. A serializable transaction that has committed replaced what the merge
// was given, as if it had read it.
func (d *registers) merge(w *worker[int], t *txn, to mvcc.Tx[int, int], key int) {
	value, m := w.value(), &merged{key: key}
	t.note(OpWrite, key, Version{Value: value})
	t.ops[len(t.ops)-1].merge = m
	to.Merge(key, func(old int, ok bool) int {
		m.old = &Version{old, ok}
		return value
	})
	if w.percent(20) {
		d.read(w, t, to, key) // its own write
	}
}

// Config says what to record. A count that is zero means its default; a percentage
// that is zero means never. [Mixed] has some of everything.
type Config struct {
	Kind    Kind
	Workers int    // goroutines; default: 8
	Txs     int    // of all workers together, one-key operations included; default: 10,000
	Keys    int    // in use at a time; default: 6
	MaxOps  int    // keys that a transaction touches at most; default: 4
	Seed    uint64 // of the random choices; the same seed is not the same schedule

	// Percentages.
	OneKey   int // of what is run: one-key operations
	ReadOnly int // of what is run: views and snapshots; the rest is never nothing
	Snapshot int // of transactions that may write: run at LevelSnapshot
	Scan     int // of transactions and views: read the whole map
	Write    int // of operations: write; default: 50
	// Past is of transactions and views that have committed: the state at their epoch is read
	// again some time later, if it is still there; see Options.Retain.
	Past int
	// Delete is of writes: delete the key. In append histories the list moves: it is
	// kept under one of two keys of the map, is deleted there and stored under the other.
	Delete int

	// Tables says that the keys are in two ordered tables of a database, one of which has an
	// index, and that what is scanned are ranges. For registers only; there is no Past then.
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

// Record makes a map, has goroutines run what cfg says on it, and returns the
// history. The goroutines share nothing but the map: each keeps its records for
// itself, and stamps them with one monotonic clock. If ctx ends Record stops early,
// and the history is shorter. It returns an error if the map panics, or fails in a
// way that no history shows.
func Record(ctx context.Context, cfg Config) (*History, error) {
	cfg.Workers = cmp.Or(cfg.Workers, 8)
	cfg.Txs = cmp.Or(cfg.Txs, 10_000)
	cfg.Keys = cmp.Or(cfg.Keys, 6)
	cfg.MaxOps = min(cmp.Or(cfg.MaxOps, 4), cfg.Keys)
	cfg.Write = cmp.Or(cfg.Write, 50)
	if cfg.Options == nil {
		cfg.Options = &mvcc.Options{ReclaimInterval: time.Millisecond, PruneThreshold: 2}
	}
	if cfg.Tables && cfg.Kind != KindRegister {
		return nil, errors.New("history: Tables is for registers")
	}
	if cfg.Kind == KindAppend {
		return run(ctx, cfg, newLists)
	}
	return run(ctx, cfg, newRegisters)
}
