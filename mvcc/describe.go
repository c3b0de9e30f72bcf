package mvcc

import (
	"cmp"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A Description is the result of [DB.Describe].
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
	Natural    bool // that order is the one of Go's operators
	Expires    bool // see [Map.Expire]
	Stats      Stats
	Indexes    []IndexInfo // by name
}

// An IndexInfo describes an [Index].
type IndexInfo struct {
	Name            string
	Key             reflect.Type // of the index keys
	Unique, Ordered bool
	// Entries is how many there are: one for each index key of each record.
	Entries int
	// Keys is how many different index keys there are, up to 10,000 unless it is unique; -1 if the
	// index is just being made.
	Keys int
}

// A WatchInfo describes a watch, but no channel of Changed.
type WatchInfo struct {
	Table   string // "" for the whole database
	Epoch   uint64 // up to which the loop was offered what was committed
	Waiting int    // changes that the loop has not taken yet
	Buffer  int    // how many may wait
}

// A ReaderInfo describes an open transaction or snapshot.
type ReaderInfo struct {
	Epoch uint64 // what it reads
	// Age is for how long the background work, or Describe, has seen it.
	Age time.Duration
	// Began is where it began, innermost call first, with [Options.TracePins].
	Began []runtime.Frame
}

// maxReaders bounds Description.Readers, and maxDistinct what is counted for IndexInfo.Keys.
const (
	maxReaders  = 32
	maxDistinct = 10_000
)

// Describe returns the present tables, indexes, watches and oldest readers, read one after the
// other. It waits for the making or closing of a table, a refresh of the view, and a round of the
// watches. It costs a look at each slot, table and watch, and for each index that is not unique a
// search for each of up to 10,000 index keys.
func (db *DB) Describe() Description {
	d := Description{Tables: dbAt(db).describeTables()}
	s := dbAt(db).shared
	d.Watches = s.hub.describe()
	for _, r := range s.gc.Readers(maxReaders) {
		d.Readers = append(d.Readers, ReaderInfo{uint64(r.Epoch), r.Age, r.Began})
	}
	return d
}

func (db *database) describeTables() (list []TableInfo) {
	for _, c := range db.list.Load().tables {
		t := TableInfo{Name: c.counters.name, Key: c.types.key, Value: c.types.value,
			Ordered: c.order != nil, Natural: c.order != nil && c.order.natural,
			Expires: c.expiryAt.Load() != nil, Stats: c.stats()}
		if s := c.schema.Load(); s != nil {
			for _, ix := range s.indexes {
				key, table, unique, ordered := ix.describe()
				one := IndexInfo{ix.named(), key, unique, ordered, table.len(), table.len()}
				if !unique {
					one.Keys = ix.distinct(maxDistinct)
				}
				t.Indexes = append(t.Indexes, one)
			}
		}
		slices.SortFunc(t.Indexes, func(a, b IndexInfo) int { return strings.Compare(a.Name, b.Name) })
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b TableInfo) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// describe returns the watches.
func (h *hub) describe() (list []WatchInfo) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.listeners {
		s, ok := w.(*subscription)
		if !ok {
			continue
		}
		s.mu.Lock()
		info := WatchInfo{Epoch: uint64(h.at), Waiting: s.changes, Buffer: s.limit}
		s.mu.Unlock()
		if s.of != nil {
			info.Table = s.of.counters.name
		}
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b WatchInfo) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), cmp.Compare(b.Waiting, a.Waiting))
	})
	return list
}
