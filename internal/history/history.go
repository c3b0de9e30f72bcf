package history

import "fmt"

// A Kind says what the values of a history are, and so how the order of the
// versions of a key is found.
type Kind uint8

const (
	// KindAppend: the value of a key is a list of ints, no two of which are the
	// same. A write appends one; a read returns the list, and with it the order
	// of all versions up to there. An absent key is the empty list.
	KindAppend Kind = iota + 1
	// KindRegister: the value of a key is an int, or absent. No two writes of a
	// key write the same value.
	KindRegister
)

// String returns "append" or "register".
func (k Kind) String() string {
	switch k {
	case KindAppend:
		return "append"
	case KindRegister:
		return "register"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// A Level is what one transaction was promised.
type Level uint8

const (
	// LevelSerializable: the reads and writes of the transaction are at one
	// moment.
	LevelSerializable Level = iota + 1
	// LevelSnapshot: its reads are at one moment and its writes at a later one,
	// between which nobody else writes a key that it writes.
	LevelSnapshot
	// LevelOneKey: an operation on one key, outside of any transaction. It is
	// promised what a serializable transaction is.
	LevelOneKey
)

// String returns "serializable", "snapshot" or "one-key".
func (l Level) String() string {
	switch l {
	case LevelSerializable:
		return "serializable"
	case LevelSnapshot:
		return "snapshot"
	case LevelOneKey:
		return "one-key"
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// A Status is how a transaction ended.
type Status uint8

const (
	// StatusCommitted: the commit was reported as successful.
	StatusCommitted Status = iota + 1
	// StatusAborted: it was rolled back; nobody may ever have seen its writes.
	StatusAborted
	// StatusUnknown: it may have committed or not, for example because the
	// recording was cut off. It counts as committed if somebody has seen it.
	StatusUnknown
)

// String returns "committed", "aborted" or "unknown".
func (s Status) String() string {
	switch s {
	case StatusCommitted:
		return "committed"
	case StatusAborted:
		return "aborted"
	case StatusUnknown:
		return "unknown"
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// An OpKind is what an operation of a transaction did.
type OpKind uint8

const (
	// OpRead read a key.
	OpRead OpKind = iota + 1
	// OpAppend appended Value to the list of a key (KindAppend).
	OpAppend
	// OpWrite set a key to Value (KindRegister).
	OpWrite
	// OpDelete made a key absent (KindRegister).
	OpDelete
)

// String returns "read", "append", "write" or "delete".
func (k OpKind) String() string {
	switch k {
	case OpRead:
		return "read"
	case OpAppend:
		return "append"
	case OpWrite:
		return "write"
	case OpDelete:
		return "delete"
	}
	return fmt.Sprintf("OpKind(%d)", uint8(k))
}

// An Op is one operation of a transaction. Only successful ones are recorded:
// a compare-and-swap that failed is nothing, or a read, if it says what it found.
type Op struct {
	Kind OpKind
	Key  int
	// Value is what was written or appended, and in register histories what
	// was read, if Present.
	Value int
	// List is what was read in append histories. Lists may share memory, and
	// nobody may change them.
	List []int
	// Present says, of a read in register histories, that there was a value.
	Present bool
}

// A Tx is one transaction, or one operation outside of any.
type Tx struct {
	// ID is unique in the history.
	ID int
	// Process is the goroutine that ran the transaction.
	Process int
	Level   Level
	// Begin and End are stamps of one monotonic clock, taken before the
	// transaction was begun and after its commit, or rollback, had returned. Of
	// two transactions the first comes before the second in real time if its End
	// is less than the other's Begin. The End of a transaction whose Status is
	// unknown may be missing: then it is not greater than Begin.
	Begin, End int64
	Status     Status
	// Ops are the operations in the order of the transaction.
	Ops []Op
	// Scan says that the transaction began by reading the whole map. Ops has
	// the keys it found; every other key of the history it found absent, or
	// empty.
	Scan bool
	// Epoch is the read epoch, if known. It is not used to check anything; it
	// helps whoever has to find out what happened.
	Epoch uint64
	// Commit is the commit epoch, or 0 if it is not known. It is used only if
	// [Options].Epochs says so.
	Commit uint64
}

// A History is what a set of concurrent transactions read and wrote. The order
// of Txs has no meaning.
type History struct {
	Kind Kind
	Txs  []Tx
}

// latest returns when the transaction had ended, one way or the other.
func (tx *Tx) latest() int64 {
	if tx.Status == StatusUnknown && tx.End <= tx.Begin {
		return maxStamp
	}
	return tx.End
}
