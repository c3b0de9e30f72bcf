package seam

import (
	"reflect"
	"runtime"
	"time"
)

// A Description lists the tables of a database, and who uses it.
type Description struct {
	Tables  []TableInfo  // by name
	Watches []WatchInfo  // by table, those of the whole database first
	Readers []ReaderInfo // the oldest ones, at most 32, the oldest first
}

// A TableInfo describes a table.
type TableInfo struct {
	Name       string
	Key, Value reflect.Type
	Ordered    bool // by its keys
	Natural    bool // in the order of Go's operators
	Expires    bool // see mvcc.Map.Expire
	// Keys, Entries, Bytes and Conflicts are those of mvcc.Stats.
	Keys, Entries    int
	Bytes, Conflicts uint64
	Indexes          []IndexInfo // by name
}

// An IndexInfo describes an index.
type IndexInfo struct {
	Name            string
	Key             reflect.Type // of the index keys
	Unique, Ordered bool
	// Entries is how many entries the index has: one for each index key of each record.
	Entries int
	// Keys is how many different index keys there are, up to 10,000 unless it is unique; -1 if the
	// index is just being made.
	Keys int
}

// A WatchInfo describes a watch, but not a channel of Changed.
type WatchInfo struct {
	Table   string // "" for the whole database
	Epoch   uint64 // the loop was offered the commits up to it
	Waiting int    // changes that the loop has not taken yet
	Buffer  int    // how many may wait
}

// A ReaderInfo describes an open transaction or snapshot.
type ReaderInfo struct {
	Epoch uint64 // of its reads
	// Age is for how long the background work, or Describe, has seen the reader.
	Age time.Duration
	// Began is where it began, innermost call first, with mvcc.Options.TracePins.
	Began []runtime.Frame
}
