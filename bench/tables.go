package bench

// Tables is an engine for workloads that files describe: several tables of [Record]s.
type Tables = Transactional[TablesTx]

// A TablesSession is one goroutine's access to [Tables].
type TablesSession = TxSession[TablesTx]

// A TablesTx is a transaction of [Tables], which are called by their index. It sees what it has
// written itself.
type TablesTx interface {
	// Get reads a record.
	Get(table int, key RecordKey) (r Record, ok bool)
	// Put writes a record, there or not.
	Put(table int, key RecordKey, r Record)
	// Add adds delta to the number of a record, without a look at it; there or not, then it was 0.
	Add(table int, key RecordKey, delta int64)
	// Delete deletes a record, there or not.
	Delete(table int, key RecordKey)
	// Range calls visit for the records that are not below low, from the lowest key to the highest,
	// until it returns false. It is called only for tables that [TableSetup] says are ordered.
	Range(table int, low RecordKey, visit func(key RecordKey, r Record) bool)
	// All calls visit for all records of a table, in any order.
	All(table int, visit func(key RecordKey, r Record))
}

// A Record is what a table has of a key. Its bytes are never written to again.
type Record struct {
	Number int64
	Bytes  []byte // nil if the table has numbers only
}

// A RecordKey is a number, and in tables whose keys are strings the text that is made of it; the
// text alone is the key there.
type RecordKey struct {
	Number int64
	Text   string
}

// TableSetup is a table at first.
type TableSetup struct {
	Name    string
	Strings bool // keys are strings, else numbers
	Ordered bool // ranges are read
	Keys    []RecordKey
	Records []Record // in the same order
}

// TablesSetup is what [Tables] are made from.
type TablesSetup struct {
	Tables []TableSetup
	// RollsBack says that functions return errors to roll their transactions back.
	RollsBack bool

	// As in [Setup].
	Isolation Isolation
	Map       MapOptions
	Limits
}
