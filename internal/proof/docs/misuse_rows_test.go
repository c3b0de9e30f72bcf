package docs

import (
	"bytes"
	"context"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

type (
	table    = mvcc.Map[string, int]
	snapshot = mvcc.Snapshot[string, int]
	txn      = mvcc.Tx[string, int]
)

// newMap returns a map with a key k, whose value is 1.
func newMap(t *testing.T) *table {
	m := mvcc.New[string, int](nil)
	t.Cleanup(m.Close)
	m.Store("k", 1)
	return m
}

// newShop returns a database with two tables; users has a key k, whose value is 1.
func newShop(t *testing.T) (db *mvcc.DB, users, orders *table) {
	db = mvcc.NewDB(nil)
	t.Cleanup(db.Close)
	users = mvcc.NewTable[string, int](db, "users", nil)
	users.Store("k", 1)
	return db, users, mvcc.NewTable[string, int](db, "orders", nil)
}

// onMap, onTx, onSnapshot and onShop make the programs of rows.
func onMap(do func(m *table) error) func(*testing.T) error {
	return func(t *testing.T) error { return do(newMap(t)) }
}

func onTx(do func(m *table, tx txn) error) func(*testing.T) error {
	return onMap(func(m *table) error {
		return m.Update(context.Background(), nil, func(tx txn) error { return do(m, tx) })
	})
}

func onSnapshot(do func(m *table, s snapshot)) func(*testing.T) error {
	return onMap(func(m *table) error {
		s := m.Snapshot()
		defer s.Close()
		do(m, s)
		return nil
	})
}

func onShop(do func(db *mvcc.DB, users, orders *table) error) func(*testing.T) error {
	return func(t *testing.T) error { return do(newShop(t)) }
}

// panics makes a program of a function that is expected to panic.
func panics(do func()) func(*testing.T) error {
	return func(*testing.T) error { do(); return nil }
}

func loop[K, V any](seq iter.Seq2[K, V]) {
	for range seq {
		continue
	}
}

func valueOf(_ string, value int) []int { return []int{value} }

func increment(tx txn) error {
	old, _ := tx.Get("k")
	tx.Set("k", old+1)
	return nil
}

// evicted returns a snapshot that is too old.
func evicted(t *testing.T) snapshot {
	m := mvcc.New[string, int](&mvcc.Options{MaxTxAge: time.Nanosecond, ManualReclaim: true})
	s := m.Snapshot()
	t.Cleanup(s.Close)
	m.Store("k", 1)
	for m.Stats().Evicted == 0 {
		require.NoError(t, m.Reclaim(t.Context()))
	}
	return s
}

// saved returns a backup of a shop.
func saved(t *testing.T) *bytes.Buffer {
	var b bytes.Buffer
	db, _, _ := newShop(t)
	_, err := durable.Save(t.Context(), db, &b, durable.Gob, nil)
	require.NoError(t, err)
	return &b
}

var (
	bg          = context.Background()
	none        context.Context
	fewAttempts = &mvcc.TxOptions{MaxAttempts: 10}
)
