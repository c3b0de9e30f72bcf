package etcd

import (
	"fmt"
	"strings"
	"sync"
)

// A record that cannot be decoded here, or for which the function of an index panics, is broken: it
// is not in the local tables, and everything else goes on. A transaction that has read it, by its
// key, a range or all of its table, is refused. One that writes it without a read mends it; where a
// table has indexes each write reads.
//
// A broken record is noted before its commit is visible, and the note is dropped before the commit
// that mends it is: a transaction that has read in between compares the record, or the guard of its
// table, and conflicts.
type broken struct {
	mu      sync.RWMutex
	records map[string]brokenRecord // by table, a slash, and the encoded key
}

type brokenRecord struct {
	rev uint64
	err *CodecError
}

// set notes a record, and returns how many there are.
func (b *broken) set(record string, rev uint64, err *CodecError) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.records == nil {
		b.records = map[string]brokenRecord{}
	}
	b.records[record] = brokenRecord{rev, err}
	return len(b.records)
}

func (b *broken) forget(record string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.records, record)
}

func (b *broken) count() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.records)
}

// of returns the note of a record; its err is nil if the record is not broken.
func (b *broken) of(record string) brokenRecord {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.records[record]
}

// within returns the error of a broken record of a table whose key is from low on, and before high
// if that is not nil.
func (b *broken) within(table string, low, high []byte) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for record, r := range b.records {
		key, of := strings.CutPrefix(record, table+"/")
		if of && key >= string(low) && (high == nil || key < string(high)) {
			return r.err
		}
	}
	return nil
}

// revisions adds the revisions of the broken records to a map, by their names.
func (b *broken) revisions(prefix string, into map[string]uint64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for record, r := range b.records {
		into[prefix+record] = r.rev
	}
}

// noteBroken notes a record that could not be applied.
func (db *DB) noteBroken(record string, rev uint64, why *CodecError) {
	if n := db.schema.broken.set(record, rev, why); n <= mostLogged {
		db.cfg.Logger.Error("etcd: a record cannot be decoded: nobody reads it here until it is written anew",
			"prefix", db.cfg.Prefix, "table", why.Table, "key", why.Name, "revision", rev, "error", why.Err,
			"broken", n)
	}
}

// Broken returns a [*CodecError] if there is a record of the key that this process cannot decode,
// or for which the function of an index panics, and nil otherwise. Loads, loops, indexes and watches
// pass over such a record, as if it was deleted; an Update that has read it, merges it, or has read
// a range or all records that it is among, returns that error. One that sets or deletes it, and has
// not read it, mends it, unless the table has indexes, by which it is read.
// [Config.Logger] is told of each such record, and [Stats.Broken] counts them. Index keys that a
// transaction looks for may have one in addition.
func (t *Table[K, V]) Broken(key K) error {
	name, err := t.key.encode(key)
	if err != nil {
		return t.failed(key, err)
	}
	if r := t.schema.broken.of(t.Name() + "/" + string(name)); r.err != nil {
		return r.err
	}
	return nil
}

// guarded calls a function of the program that decodes, or is that of an index. Its error says that
// it has panicked.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a function of the program has panicked: %v", p)
		}
	}()
	return f()
}
