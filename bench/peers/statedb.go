package peers

import (
	"cmp"
	"fmt"

	"github.com/cilium/statedb"
	"github.com/cilium/statedb/index"

	"github.com/mvccmap/mvccmap/bench"
)

func statedbPeer() bench.EngineSpec {
	return bench.EngineSpec{
		Name: "statedb",
		Doc: "Typed tables over immutable radix trees; a writing transaction locks all of its tables. " +
			"Isolation: one writer, readers have snapshots",
		New: newStateDB,
	}
}

// stateRow is a record. Rows are never changed after they were inserted.
type stateRow struct {
	key int64
	bench.Record
}

// stateKey returns a key whose order is that of the numbers.
func stateKey(key int64) index.Key { return index.Uint64(uint64(key) ^ 1<<63) }

// stateIndex is the primary index of a table.
var stateIndex = statedb.Index[*stateRow, int64]{
	Name:       "key",
	FromObject: func(row *stateRow) index.KeySet { return index.NewKeySet(stateKey(row.key)) },
	FromKey:    stateKey,
	Unique:     true,
}

type statedbEngine struct {
	bench.NoAborts
	db     *statedb.DB
	tables []statedb.RWTable[*stateRow]
	locked []statedb.TableMeta // all of them
}

func newStateDB(setup bench.Setup) (bench.Engine, error) {
	e := &statedbEngine{db: statedb.New()}
	for i := range setup.Tables {
		table, err := statedb.NewTableAny(e.db, fmt.Sprint("t", i), func() []string { return nil },
			func(*stateRow) []string { return nil }, stateIndex)
		if err != nil {
			return nil, err
		}
		e.tables, e.locked = append(e.tables, table), append(e.locked, table)
	}
	return filled(e, setup)
}

func (e *statedbEngine) Session(int) bench.Session { return &statedbSession{statedbEngine: e} }
func (e *statedbEngine) Close()                    {}

// statedbSession is its own [bench.Access]. It is padded: sessions of different goroutines must not
// share a cache line.
type statedbSession struct {
	_ [128]byte
	*statedbEngine
	read  statedb.ReadTxn
	write statedb.WriteTxn // the same, if it may write
	failure
	_ [128]byte
}

// Do implements [bench.Session]. A transaction cannot conflict.
func (s *statedbSession) Do(readOnly bool, fn func(bench.Access) error) error {
	if readOnly {
		s.read = s.db.ReadTxn()
		return fn(s)
	}
	s.write, s.err = s.db.WriteTxn(s.locked...), nil
	s.read = s.write
	defer s.write.Abort() // does nothing after Commit
	if err := fn(s); err != nil || s.err != nil {
		return cmp.Or(s.err, err)
	}
	s.write.Commit()
	return nil
}

// Pin implements [bench.Pinner].
func (s *statedbSession) Pin() (bench.Access, func(), error) {
	return &statedbSession{statedbEngine: s.statedbEngine, read: s.db.ReadTxn()}, func() {}, nil
}

func (s *statedbSession) Get(table int, key int64) (r bench.Record, ok bool) {
	if row, _, ok := s.tables[table].Get(s.read, stateIndex.Query(key)); ok {
		return row.Record, true
	}
	return r, false
}

func (s *statedbSession) Put(table int, key int64, r bench.Record) {
	_, _, err := s.tables[table].Insert(s.write, &stateRow{key, r})
	s.failed(err)
}

func (s *statedbSession) Add(table int, key, delta int64) {
	_, _, err := s.tables[table].Modify(s.write, &stateRow{key, bench.Record{Number: delta}},
		func(old, _ *stateRow) *stateRow {
			sum := *old
			sum.Number += delta
			return &sum
		})
	s.failed(err)
}

func (s *statedbSession) Delete(table int, key int64) {
	_, _, err := s.tables[table].Delete(s.write, &stateRow{key: key})
	s.failed(err)
}

func (s *statedbSession) Range(table int, low int64, visit func(int64, bench.Record) bool) {
	for row := range s.tables[table].LowerBound(s.read, stateIndex.Query(low)) {
		if !visit(row.key, row.Record) {
			return
		}
	}
}

func (s *statedbSession) All(table int, visit func(int64, bench.Record)) {
	for row := range s.tables[table].All(s.read) {
		visit(row.key, row.Record)
	}
}
