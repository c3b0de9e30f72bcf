package commit

import "fmt"

// Key is one of the keys of a scenario.
type Key uint8

// The keys.
const (
	X Key = iota
	Y
	Z
)

func (k Key) String() string { return "xyz"[k : k+1] }

// Level is the isolation level of a transaction.
type Level uint8

// The isolation levels.
const (
	Serializable Level = iota
	Snapshot
)

// Kind is what an operation does.
type Kind uint8

// The kinds of operation. All but TxKind work on one key, without a slot.
const (
	LoadKind        Kind = iota // read
	StoreKind                   // blind write
	DeleteKind                  // blind write of a tombstone
	SwapKind                    // write that returns the value it replaces
	LoadOrStoreKind             // write if absent, else read
	TxKind                      // transaction: reads, then buffered writes, then commit
)

// Op is one operation of a process.
type Op struct {
	Kind    Kind
	Level   Level
	Reads   []Key // in this order
	Writes  []Key // installed in this order
	Watches bool  // its validation watches from the first
}

// Load reads k.
func Load(k Key) Op { return Op{Kind: LoadKind, Reads: []Key{k}} }

// Store writes k.
func Store(k Key) Op { return Op{Kind: StoreKind, Writes: []Key{k}} }

// Delete writes a tombstone of k.
func Delete(k Key) Op { return Op{Kind: DeleteKind, Writes: []Key{k}} }

// Swap writes k and returns the value it replaces.
func Swap(k Key) Op { return Op{Kind: SwapKind, Writes: []Key{k}} }

// LoadOrStore writes k if it is absent, and returns its value otherwise. It
// stands for CompareAndSwap too: the version below decides whether to write.
func LoadOrStore(k Key) Op { return Op{Kind: LoadOrStoreKind, Writes: []Key{k}} }

// View is a read-only transaction.
func View(reads ...Key) Op { return Op{Kind: TxKind, Reads: reads} }

// Put is a transaction that has read nothing.
func Put(writes ...Key) Op { return Op{Kind: TxKind, Writes: writes} }

// Update is a transaction that reads, then writes.
func Update(reads, writes []Key) Op { return Op{Kind: TxKind, Reads: reads, Writes: writes} }

// At returns op at isolation level l.
func (op Op) At(l Level) Op {
	op.Level = l
	return op
}

// Watching returns op with a validation that watches.
func (op Op) Watching() Op {
	op.Watches = true
	return op
}

// check reports whether the operation validates its reads when it commits.
func (op Op) check() bool {
	return op.Kind == TxKind && op.Level == Serializable && len(op.Reads) > 0 && len(op.Writes) > 0
}

// blind reports whether the operation has read nothing in a snapshot, so that it
// never returns a conflict: when a rival has aborted it, it is installed again.
func (op Op) blind() bool { return len(op.Reads) == 0 }

func (op Op) String() string {
	keys := func(ks []Key) (s string) {
		for _, k := range ks {
			s += k.String()
		}
		return s
	}
	switch op.Kind {
	case LoadKind:
		return "Load " + keys(op.Reads)
	case StoreKind:
		return "Store " + keys(op.Writes)
	case DeleteKind:
		return "Delete " + keys(op.Writes)
	case SwapKind:
		return "Swap " + keys(op.Writes)
	case LoadOrStoreKind:
		return "LoadOrStore " + keys(op.Writes)
	}
	s := "Tx"
	if op.Level == Snapshot {
		s = "SnapshotTx"
	}
	if len(op.Reads) > 0 {
		s += " r " + keys(op.Reads)
	}
	if len(op.Writes) > 0 {
		s += " w " + keys(op.Writes)
	}
	if op.Watches {
		s += " watching"
	}
	return s
}

// Scenario is a bounded program for the protocol.
type Scenario struct {
	Name  string
	Procs [][]Op // what each process does, in order

	Absent   []Key // keys that have no entry at first
	Deleted  []Key // keys whose first version is a tombstone
	Pruned   []Key // keys that the pruners look at, in this order
	Pruners  int   // number of concurrent pruners
	Passes   int   // views each pruner takes (default 1)
	Remove   bool  // pruners remove entries, so entries come and go
	Attempts int   // installs of a transaction that is installed again (default 1)
	Again    bool  // after an abort by a rival, one with reads is installed again too
	Unhook   bool  // aborted transactions and pruners take aborted versions off the chains
	Copy     bool  // committed epochs are copied into all but the first version
	NoClock  bool  // a load notes no clock and revokes every tentative head
	Signs    bool  // a validator looks at its own record after each read
	Switch   bool  // a transaction that watches may validate as any other before it does
	NoAbort  bool  // meeting a rival, a transaction that may conflict always does

	Solo  int  // if positive, every process must finish alone within so many moves
	Large bool // too big for an ordinary test run

	Faults Fault
}

// With returns the scenario with mistakes.
func (s Scenario) With(f Fault) Scenario {
	s.Faults |= f
	return s
}

func (s Scenario) String() string {
	str := s.Name
	if s.Faults != 0 {
		str += fmt.Sprintf(" [%v]", s.Faults)
	}
	return str
}
