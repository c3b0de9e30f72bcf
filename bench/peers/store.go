package peers

import (
	"encoding/binary"
	"fmt"

	"github.com/mvccmap/mvccmap/bench"
)

// A store keeps bytes in the order of its keys: a peer that knows nothing of tables and records.
type store interface {
	// run runs do in a transaction, which it makes again after a conflict, and counts its attempts.
	run(readOnly bool, count *bench.Attempts, do func(tx storeTx) error) error
	// pin opens a transaction that reads, and stays open.
	pin() (tx storeTx, done func(), err error)
	close()
}

// A storeTx is a transaction of a store. It keeps none of the keys passed to it when it has ended.
// Nobody writes to a value after it was passed to set.
type storeTx interface {
	// get calls found with the value of a key, which is good only meanwhile, if it is there.
	get(key []byte, found func(value []byte) error) error
	set(key, value []byte) error
	remove(key []byte) error
	// scan calls found for all keys that begin with prefix, from low on, in their order, until
	// found returns false.
	scan(prefix, low []byte, found func(key, value []byte) (bool, error)) error
}

// storeEngine is an engine that has all tables in one store: a key is the number of the table and
// the key in it, a value the number of the record and its bytes.
type storeEngine struct {
	store
	tables []bench.TableSetup // without their records
}

// newStoreEngine fills a store.
func newStoreEngine(s store, setup bench.Setup, fill storeTx) (*storeEngine, error) {
	e := &storeEngine{store: s}
	for i, t := range setup.Tables {
		for k, key := range t.Keys {
			if err := fill.set(tableKey(nil, i, key), valueBytes(nil, t.Records[k], t.Numbers)); err != nil {
				return nil, err
			}
		}
		t.Keys, t.Records = nil, nil
		e.tables = append(e.tables, t)
	}
	return e, nil
}

func (e *storeEngine) Close() { e.store.close() }

func (e *storeEngine) Session(int) bench.Session { return e.session() }

func (e *storeEngine) session() *storeSession {
	s := &storeSession{storeEngine: e}
	s.attempt = func(tx storeTx) error {
		s.begin(tx)
		if err := s.fn(s); s.err == nil {
			return err
		}
		return s.err
	}
	s.found = func(value []byte) (err error) {
		s.ok = true
		s.record, err = recordOf(value, s.tables[s.table].Numbers)
		return err
	}
	return s
}

// storeSession is its own [bench.Access]. The functions it calls are made once. It is padded:
// sessions of different goroutines must not share a cache line.
type storeSession struct {
	bench.Attempts
	*storeEngine
	attempt func(tx storeTx) error
	found   func(value []byte) error
	fn      func(bench.Access) error

	// Of the transaction under way.
	tx storeTx
	failure
	arena []byte // keys and numbers
	// Of a read.
	table  int
	record bench.Record
	ok     bool
	_      [128]byte
}

func (s *storeSession) begin(tx storeTx) { s.tx, s.err, s.arena = tx, nil, s.arena[:0] }

// Do implements [bench.Session]. An error of the store within fn ends the transaction after it.
func (s *storeSession) Do(readOnly bool, fn func(bench.Access) error) error {
	s.fn = fn
	return s.run(readOnly, &s.Attempts, s.attempt)
}

// Pin implements [bench.Pinner].
func (s *storeSession) Pin() (bench.Access, func(), error) {
	tx, done, err := s.pin()
	pinned := s.session()
	pinned.begin(tx)
	return pinned, func() {
		done()
		if pinned.err != nil {
			panic(pinned.err)
		}
	}, err
}

// key returns a key of a table, which is good until the transaction has ended.
func (s *storeSession) key(table int, key int64) []byte {
	n := len(s.arena)
	s.arena = tableKey(s.arena, table, key)
	return s.arena[n:len(s.arena):len(s.arena)]
}

func (s *storeSession) Get(table int, key int64) (bench.Record, bool) {
	s.table, s.record, s.ok = table, bench.Record{}, false
	s.failed(s.tx.get(s.key(table, key), s.found))
	return s.record, s.ok
}

func (s *storeSession) Put(table int, key int64, r bench.Record) {
	k, n := s.key(table, key), len(s.arena)
	s.arena = valueBytes(s.arena, r, s.tables[table].Numbers)
	s.failed(s.tx.set(k, s.arena[n:len(s.arena):len(s.arena)]))
}

func (s *storeSession) Add(table int, key, delta int64) {
	r, _ := s.Get(table, key)
	r.Number += delta
	s.Put(table, key, r)
}

func (s *storeSession) Delete(table int, key int64) { s.failed(s.tx.remove(s.key(table, key))) }

func (s *storeSession) Range(table int, low int64, visit func(int64, bench.Record) bool) {
	s.scan(table, s.key(table, low), visit)
}

func (s *storeSession) All(table int, visit func(int64, bench.Record)) {
	s.scan(table, tablePrefix(table), func(key int64, r bench.Record) bool {
		visit(key, r)
		return true
	})
}

func (s *storeSession) scan(table int, low []byte, visit func(int64, bench.Record) bool) {
	numbers := s.tables[table].Numbers
	s.failed(s.tx.scan(tablePrefix(table), low, func(key, value []byte) (bool, error) {
		r, err := recordOf(value, numbers)
		return err == nil && visit(keyOf(key), r), err
	}))
}

func tablePrefix(table int) []byte { return []byte{byte(table)} }

// tableKey appends a key, whose order is that of the numbers.
func tableKey(b []byte, table int, key int64) []byte {
	return binary.BigEndian.AppendUint64(append(b, byte(table)), uint64(key)^1<<63)
}

func keyOf(b []byte) int64 { return int64(binary.BigEndian.Uint64(b[1:]) ^ 1<<63) }

// valueBytes appends the value of a record.
func valueBytes(b []byte, r bench.Record, numbers bool) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Number))
	if !numbers {
		b = append(b, r.Bytes...)
	}
	return b
}

// recordOf returns the record of a value. Its bytes are a copy.
func recordOf(b []byte, numbers bool) (r bench.Record, err error) {
	if len(b) < bench.WordSize || numbers && len(b) > bench.WordSize {
		return r, fmt.Errorf("peers: a record of %d bytes", len(b))
	}
	r.Number = int64(binary.LittleEndian.Uint64(b))
	if !numbers {
		r.Bytes = append([]byte(nil), b[bench.WordSize:]...)
	}
	return r, nil
}
