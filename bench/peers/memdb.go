package peers

import (
	"errors"
	"fmt"

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
	if len(args) != 1 {
		return nil, fmt.Errorf("peers: a lookup by %d arguments instead of 1", len(args))
	}
	return args[0].(*memdbRow[V]).key, nil
}

type memdbEngine[V any] struct{ db *memdb.MemDB }

func newMemDB[V any](setup bench.Setup[string, V]) (bench.Engine[string, V], error) {
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
	tx := db.Txn(true)
	defer tx.Abort()
	for i, k := range setup.Keys {
		if err := tx.Insert(memdbTable, &memdbRow[V]{key: []byte(k),
			value: setup.Values[i]}); err != nil {
			return nil, err
		}
	}
	tx.Commit()
	return &memdbEngine[V]{db}, nil
}

func (e *memdbEngine[V]) Session(int) bench.Session[string, V] {
	return &memdbSession[V]{memdbEngine: e}
}

func (e *memdbEngine[V]) Close() {}

type memdbSession[V any] struct {
	bench.NoAborts
	*memdbEngine[V]
	memdbLookup[V]
}

// memdbLookup is the argument of lookups, used over and over. It is padded:
// sessions of different goroutines must not share a cache line.
type memdbLookup[V any] struct {
	_    [128]byte
	row  memdbRow[V]
	args []any // &row
	_    [128]byte
}

// find returns the row of key in tx, or nil.
func (l *memdbLookup[V]) find(tx *memdb.Txn, key string) (*memdbRow[V], error) {
	if l.args == nil {
		l.args = []any{&l.row}
	}
	l.row.key = append(l.row.key[:0], key...)
	found, err := tx.First(memdbTable, memdbIndex, l.args...)
	if err != nil || found == nil {
		return nil, err
	}
	return found.(*memdbRow[V]), nil
}

// get returns the value of key in tx.
func (l *memdbLookup[V]) get(tx *memdb.Txn, key string) (value V, ok bool, err error) {
	row, err := l.find(tx, key)
	if row == nil {
		return value, false, err
	}
	return row.value, true, nil
}

// update runs fn, which cannot conflict, and commits unless it fails.
func (s *memdbSession[V]) update(fn func(tx *memdb.Txn) error) error {
	tx := s.db.Txn(true)
	defer tx.Abort() // does nothing after Commit
	if err := fn(tx); err != nil {
		return err
	}
	tx.Commit()
	return nil
}

func (s *memdbSession[V]) Get(key string) (V, bool, error) {
	return s.get(s.db.Txn(false), key)
}

func (s *memdbSession[V]) Put(key string, value V) error {
	row := &memdbRow[V]{key: []byte(key), value: value}
	return s.update(func(tx *memdb.Txn) error { return tx.Insert(memdbTable, row) })
}

func (s *memdbSession[V]) Begin() error {
	s.db.Txn(false).Abort()
	return nil
}

func (s *memdbSession[V]) Batch(ops []bench.Op[string, V], readOnly bool) error {
	do := func(tx *memdb.Txn) error {
		for i := range ops {
			if err := s.do(tx, &ops[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if readOnly {
		return do(s.db.Txn(false))
	}
	return s.update(do)
}

func (s *memdbSession[V]) do(tx *memdb.Txn, op *bench.Op[string, V]) (err error) {
	switch op.Kind {
	case bench.OpGet:
		op.Old, op.OK, err = s.get(tx, op.Key)
	case bench.OpHas:
		_, op.OK, err = s.get(tx, op.Key)
	case bench.OpPut:
		err = tx.Insert(memdbTable, &memdbRow[V]{key: []byte(op.Key), value: op.Value})
	case bench.OpModify:
		var row *memdbRow[V]
		if row, err = s.find(tx, op.Key); err != nil {
			return err
		}
		key := []byte(nil)
		if op.OK = row != nil; op.OK {
			key, op.Old = row.key, row.value
		} else {
			key = []byte(op.Key)
		}
		err = tx.Insert(memdbTable, &memdbRow[V]{key: key, value: op.Value})
	case bench.OpDelete:
		s.row.key = append(s.row.key[:0], op.Key...)
		if err = tx.Delete(memdbTable, &s.row); errors.Is(err, memdb.ErrNotFound) {
			err = nil
		}
	}
	return err
}

// Range implements [bench.Ranger].
func (s *memdbSession[V]) Range(low string, n int, visit func(key string, value V)) error {
	s.row.key = append(s.row.key[:0], low...)
	rows, err := s.db.Txn(false).LowerBound(memdbTable, memdbIndex, &s.row)
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
func (s *memdbSession[V]) Pin() (bench.Pin[string, V], error) {
	return &memdbPin[V]{tx: s.db.Txn(false)}, nil
}

type memdbPin[V any] struct {
	memdbLookup[V]
	tx *memdb.Txn
}

func (p *memdbPin[V]) Get(key string) (V, bool, error) { return p.get(p.tx, key) }
func (p *memdbPin[V]) Close()                          { p.tx = nil }

// add adds delta to the value of key in tx, and returns the sum.
func (s *memdbSession[V]) add(tx *memdb.Txn, key string, delta uint64) (uint64, error) {
	row, err := s.find(tx, key)
	if err != nil {
		return 0, err
	}
	if row == nil {
		return 0, errNoSuchKey(key)
	}
	old, _ := any(row).(*memdbRow[uint64])
	sum := old.value + delta
	return sum, tx.Insert(memdbTable, &memdbRow[uint64]{key: old.key, value: sum})
}

func (s *memdbSession[V]) Add(key string, delta uint64) (sum uint64, err error) {
	err = s.update(func(tx *memdb.Txn) error {
		sum, err = s.add(tx, key, delta)
		return err
	})
	return sum, err
}

func (s *memdbSession[V]) Transfer(from, to string, amount uint64) error {
	return s.update(func(tx *memdb.Txn) error {
		if _, err := s.add(tx, from, -amount); err != nil {
			return err
		}
		_, err := s.add(tx, to, amount)
		return err
	})
}

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
