// Package migrating_test has the code of docs/migrating.md for stores that the module itself does
// not build.
package migrating_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/hashicorp/go-memdb"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

type person struct{ ID, Mail string }

var errTaken = errors.New("mail address in use")

// From go-memdb.

func saveMemDB(db *memdb.MemDB, p person) error {
	txn := db.Txn(true) // waits for other writers
	defer txn.Abort()
	if other, err := txn.First("person", "mail", p.Mail); err != nil {
		return err
	} else if other != nil && other.(person).ID != p.ID {
		return errTaken
	}
	if err := txn.Insert("person", p); err != nil {
		return err
	}
	txn.Commit()
	return nil
}

func newPeople(db *mvcc.DB) (*mvcc.Map[string, person], error) {
	people := mvcc.NewTable[string, person](db, "person", nil)
	_, err := mvcc.NewIndex(people, "mail", func(_ string, p person) []string {
		return []string{p.Mail}
	}, &mvcc.IndexOptions{Unique: true})
	return people, err
}

func save(ctx context.Context, people *mvcc.Map[string, person], p person) error {
	err := people.Update(ctx, nil, func(tx mvcc.Tx[string, person]) error {
		tx.Set(p.ID, p)
		return nil
	})
	if _, taken := errors.AsType[*mvcc.UniqueError](err); taken {
		return errTaken
	}
	return err
}

// From badger.

func hitBadger(db *badger.DB, key []byte) error {
	for {
		err := db.Update(func(txn *badger.Txn) error {
			n := 0
			item, err := txn.Get(key)
			if err == nil {
				err = item.Value(func(text []byte) (err error) {
					n, err = strconv.Atoi(string(text))
					return err
				})
			}
			if err != nil && !errors.Is(err, badger.ErrKeyNotFound) {
				return err
			}
			return txn.Set(key, strconv.AppendInt(nil, int64(n+1), 10))
		})
		if !errors.Is(err, badger.ErrConflict) {
			return err
		}
	}
}

func hit(ctx context.Context, m *mvcc.Map[string, int], key string) error {
	return m.Update(ctx, nil, func(tx mvcc.Tx[string, int]) error { // tries again itself
		n, _ := tx.Get(key) // 0 if there is none
		tx.Set(key, n+1)
		return nil
	})
}

// TestMigrating runs both sides of each pair.
func TestMigrating(t *testing.T) {
	ctx := t.Context()

	t.Run("go-memdb", func(t *testing.T) {
		index := func(name, field string) *memdb.IndexSchema {
			of := &memdb.StringFieldIndex{Field: field}
			return &memdb.IndexSchema{Name: name, Unique: true, Indexer: of}
		}
		db, err := memdb.NewMemDB(&memdb.DBSchema{Tables: map[string]*memdb.TableSchema{
			"person": {Name: "person", Indexes: map[string]*memdb.IndexSchema{
				"id": index("id", "ID"), "mail": index("mail", "Mail"),
			}},
		}})
		require.NoError(t, err)
		tables := mvcc.NewDB(nil)
		defer tables.Close()
		m, err := newPeople(tables)
		require.NoError(t, err)
		for _, save := range []func(p person) error{
			func(p person) error { return saveMemDB(db, p) },
			func(p person) error { return save(ctx, m, p) },
		} {
			require.NoError(t, save(person{"1", "a@example.com"}))
			require.ErrorIs(t, save(person{"2", "a@example.com"}), errTaken)
			require.NoError(t, save(person{"1", "alice@example.com"}))
			require.NoError(t, save(person{"2", "a@example.com"}))
			require.NoError(t, save(person{"2", "a@example.com"}))
		}
		require.Equal(t, 2, m.Len())
	})

	t.Run("badger", func(t *testing.T) {
		db, err := badger.Open(badger.DefaultOptions("").WithInMemory(true).WithLogger(nil))
		require.NoError(t, err)
		defer db.Close()
		m := mvcc.New[string, int](nil)
		defer m.Close()
		for range 3 {
			require.NoError(t, hitBadger(db, []byte("/")))
			require.NoError(t, hit(ctx, m, "/"))
		}
		n, _ := m.Load("/")
		require.Equal(t, 3, n)
		require.NoError(t, db.View(func(txn *badger.Txn) error {
			item, err := txn.Get([]byte("/"))
			require.NoError(t, err)
			text, err := item.ValueCopy(nil)
			require.Equal(t, "3", string(text))
			return err
		}))
	})
}
