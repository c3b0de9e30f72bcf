package peers

import (
	"errors"

	"github.com/hashicorp/go-memdb"

	"github.com/mvccmap/mvccmap/bench"
)

func memdbPeer() Peer {
	return Peer{
		Module:    "github.com/hashicorp/go-memdb",
		Isolation: "one writer, readers have snapshots",
		EngineSpec: bench.EngineSpec{
			Name: "memdb",
			Doc: "Immutable radix trees with one writer at a time; one table, one index, whose " +
				"indexer does not use reflection",
			New:      newMemDB[uint64],
			NewBytes: newMemDB[[]byte],
			NewShop:  newMemDBShop,
		},
	}
}

const (
	memdbTable = "map"
	memdbIndex = "id" // the name that the primary index must have
)

// memdbRow is what the table holds. Rows are never changed after they were
// inserted, nor are their keys, which the tree keeps.
type memdbRow[V any] struct {
	key   []byte
	value V
}

// memdbIndexer indexes rows by key. The argument of a lookup is a row, too, so
// that a session can use one over and over.
type memdbIndexer[V any] struct{}

// FromObject implements [memdb.SingleIndexer].
func (memdbIndexer[V]) FromObject(row any) (bool, []byte, error) {
	return true, row.(*memdbRow[V]).key, nil
}

// FromArgs implements [memdb.Indexer].
func (memdbIndexer[V]) FromArgs(args ...any) ([]byte, error) {
	return args[0].(*memdbRow[V]).key, nil
}

// memdbRun runs do in a transaction, which cannot conflict.
func memdbRun(db *memdb.MemDB, readOnly bool, do func(tx *memdb.Txn) error) error {
	tx := db.Txn(!readOnly)
	defer tx.Abort() // does nothing after Commit
	if err := do(tx); err != nil {
		return err
	}
	tx.Commit() // does nothing if it is read-only
	return nil
}

type memdbEngine[V any] struct{ db *memdb.MemDB }

func newMemDB[V any](setup bench.Setup[V]) (bench.Engine[V], error) {
	db, err := memdb.NewMemDB(&memdb.DBSchema{Tables: map[string]*memdb.TableSchema{
		memdbTable: {
			Name: memdbTable,
			Indexes: map[string]*memdb.IndexSchema{
				memdbIndex: {Name: memdbIndex, Unique: true, Indexer: memdbIndexer[V]{}},
			},
		},
	}})
	if err != nil {
		return nil, err
	}
	return &memdbEngine[V]{db}, memdbRun(db, false, func(tx *memdb.Txn) error {
		fill := memdbTx[V]{tx: tx}
		for i, k := range setup.Keys {
			if err := fill.put(k, setup.Values[i], false); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *memdbEngine[V]) Session(int) bench.Session[V] {
	s := &memdbSession[V]{memdbEngine: e}
	s.self = s
	return s
}

func (e *memdbEngine[V]) Close() {}

// memdbSession never aborts.
type memdbSession[V any] struct {
	memdbTx[V]
	singles[V]
	bench.NoAborts
	*memdbEngine[V]
}

// memdbTx is a transaction that is open. It is padded as [arena] is.
type memdbTx[V any] struct {
	_    [128]byte
	tx   *memdb.Txn
	last *memdbRow[V] // what get has found, or nil
	row  memdbRow[V]  // the argument of lookups, used over and over
	args []any        // &row
	_    [128]byte
}

// lookup makes row the argument of a lookup by key.
func (t *memdbTx[V]) lookup(key string) *memdbRow[V] {
	t.row.key = append(t.row.key[:0], key...)
	return &t.row
}

func (t *memdbTx[V]) get(key string) (value V, ok bool, err error) {
	row := t.lookup(key)
	if t.args == nil {
		t.args = []any{row}
	}
	found, err := t.tx.First(memdbTable, memdbIndex, t.args...)
	if err != nil || found == nil {
		return value, false, err
	}
	t.last = found.(*memdbRow[V])
	return t.last.value, true, nil
}

func (t *memdbTx[V]) has(key string) (ok bool, err error) {
	_, ok, err = t.get(key)
	return ok, err
}

// put implements [txn]. The key of a row that was found is used again.
func (t *memdbTx[V]) put(key string, value V, found bool) error {
	row := &memdbRow[V]{value: value}
	if found {
		row.key = t.last.key
	} else {
		row.key = []byte(key)
	}
	return t.tx.Insert(memdbTable, row)
}

func (t *memdbTx[V]) remove(key string) error {
	err := t.tx.Delete(memdbTable, t.lookup(key))
	if errors.Is(err, memdb.ErrNotFound) {
		return nil
	}
	return err
}

func (s *memdbSession[V]) Begin() error {
	s.db.Txn(false).Abort()
	return nil
}

func (s *memdbSession[V]) Batch(ops []bench.Op[V], readOnly bool) error {
	return memdbRun(s.db, readOnly, func(tx *memdb.Txn) error {
		s.tx = tx
		return apply(s, ops)
	})
}

// Range implements [bench.Ranger].
func (s *memdbSession[V]) Range(low string, n int, visit func(key string, value V)) error {
	rows, err := s.db.Txn(false).LowerBound(memdbTable, memdbIndex, s.lookup(low))
	if err != nil {
		return err
	}
	for row := rows.Next(); row != nil && n > 0; row = rows.Next() {
		found := row.(*memdbRow[V])
		visit(string(found.key), found.value)
		n--
	}
	return nil
}

// Pin implements [bench.Pinner]: a read transaction.
func (s *memdbSession[V]) Pin() (bench.Pin[V], error) {
	return &memdbPin[V]{memdbTx[V]{tx: s.db.Txn(false)}}, nil
}

type memdbPin[V any] struct{ memdbTx[V] }

func (p *memdbPin[V]) Get(key string) (V, bool, error) { return p.get(key) }
func (p *memdbPin[V]) Close()                          { p.tx = nil }

func (s *memdbSession[V]) Sum() (total uint64, keys int, err error) {
	rows, err := s.db.Txn(false).Get(memdbTable, memdbIndex) // without arguments: all
	if err != nil {
		return 0, 0, err
	}
	for row := rows.Next(); row != nil; row = rows.Next() {
		total += row.(*memdbRow[uint64]).value
		keys++
	}
	return total, keys, nil
}
