package peers

import (
	"cmp"
	"errors"
	"strconv"

	"github.com/hashicorp/go-memdb"

	"github.com/mvccmap/mvccmap/bench"
)

func memdbPeer() bench.EngineSpec {
	return bench.EngineSpec{
		Name: "memdb",
		Doc: "Immutable radix trees with one writer at a time; a table of it for each, with one index, " +
			"whose indexer does not use reflection. " +
			"Isolation: one writer, readers have snapshots",
		New: newMemDB,
	}
}

const memdbIndex = "id" // the name that the primary index must have

// memdbRow is a record. Rows are never changed after they were
// inserted, nor are their keys, which the tree keeps.
type memdbRow struct {
	key []byte
	bench.Record
}

// memdbIndexer indexes rows by key. The argument of a lookup is a row, too, so
// that a session can use one over and over.
type memdbIndexer struct{}

// FromObject implements [memdb.SingleIndexer].
func (memdbIndexer) FromObject(row any) (bool, []byte, error) { return true, row.(*memdbRow).key, nil }

// FromArgs implements [memdb.Indexer].
func (memdbIndexer) FromArgs(args ...any) ([]byte, error) { return args[0].(*memdbRow).key, nil }

type memdbEngine struct {
	bench.NoAborts
	db     *memdb.MemDB
	tables []string // their names
}

func newMemDB(setup bench.Setup) (bench.Engine, error) {
	schema := &memdb.DBSchema{Tables: map[string]*memdb.TableSchema{}}
	e := &memdbEngine{}
	for i := range setup.Tables {
		name := strconv.Itoa(i)
		e.tables = append(e.tables, name)
		schema.Tables[name] = &memdb.TableSchema{Name: name, Indexes: map[string]*memdb.IndexSchema{
			memdbIndex: {Name: memdbIndex, Unique: true, Indexer: memdbIndexer{}},
		}}
	}
	var err error
	if e.db, err = memdb.NewMemDB(schema); err != nil {
		return nil, err
	}
	return filled(e, setup)
}

func (e *memdbEngine) Session(int) bench.Session { return e.session() }
func (e *memdbEngine) Close()                    {}

func (e *memdbEngine) session() *memdbSession {
	s := &memdbSession{memdbEngine: e}
	s.args = []any{&s.row}
	return s
}

// memdbSession is its own [bench.Access]. It is padded: sessions of different goroutines must not
// share a cache line.
type memdbSession struct {
	_ [128]byte
	*memdbEngine
	tx *memdb.Txn
	failure
	row  memdbRow // the argument of lookups, used over and over
	args []any    // &row
	_    [128]byte
}

// Do implements [bench.Session]. A transaction cannot conflict.
func (s *memdbSession) Do(readOnly bool, fn func(bench.Access) error) error {
	s.tx, s.err = s.db.Txn(!readOnly), nil
	defer s.tx.Abort() // does nothing after Commit
	if err := fn(s); err != nil || s.err != nil {
		return cmp.Or(s.err, err)
	}
	s.tx.Commit() // does nothing if it is read-only
	return nil
}

// Pin implements [bench.Pinner].
func (s *memdbSession) Pin() (bench.Access, func(), error) {
	pinned := s.session()
	pinned.tx = s.db.Txn(false)
	return pinned, pinned.tx.Abort, nil
}

// lookup makes row the argument of a lookup by key.
func (s *memdbSession) lookup(key int64) []any {
	s.row.key = tableKey(s.row.key[:0], 0, key)
	return s.args
}

func (s *memdbSession) find(table int, key int64) *memdbRow {
	found, err := s.tx.First(s.tables[table], memdbIndex, s.lookup(key)...)
	s.failed(err)
	row, _ := found.(*memdbRow)
	return row
}

func (s *memdbSession) Get(table int, key int64) (r bench.Record, ok bool) {
	if row := s.find(table, key); row != nil {
		return row.Record, true
	}
	return r, false
}

func (s *memdbSession) Put(table int, key int64, r bench.Record) {
	s.failed(s.tx.Insert(s.tables[table], &memdbRow{tableKey(nil, 0, key), r}))
}

func (s *memdbSession) Add(table int, key, delta int64) {
	row := &memdbRow{}
	if old := s.find(table, key); old != nil {
		*row = *old
	} else {
		row.key = tableKey(nil, 0, key)
	}
	row.Number += delta
	s.failed(s.tx.Insert(s.tables[table], row))
}

func (s *memdbSession) Delete(table int, key int64) {
	s.lookup(key)
	if err := s.tx.Delete(s.tables[table], &s.row); !errors.Is(err, memdb.ErrNotFound) {
		s.failed(err)
	}
}

func (s *memdbSession) Range(table int, low int64, visit func(int64, bench.Record) bool) {
	rows, err := s.tx.LowerBound(s.tables[table], memdbIndex, s.lookup(low)...)
	s.visit(rows, err, visit)
}

func (s *memdbSession) All(table int, visit func(int64, bench.Record)) {
	rows, err := s.tx.Get(s.tables[table], memdbIndex) // without arguments: all
	s.visit(rows, err, func(key int64, r bench.Record) bool {
		visit(key, r)
		return true
	})
}

func (s *memdbSession) visit(
	rows memdb.ResultIterator, err error, visit func(int64, bench.Record) bool,
) {
	if err != nil {
		s.failed(err)
		return
	}
	for row := rows.Next(); row != nil; row = rows.Next() {
		found := row.(*memdbRow)
		if !visit(keyOf(found.key), found.Record) {
			return
		}
	}
}
