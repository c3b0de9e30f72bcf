package peers

import (
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"
)

// The claims about the isolation of the peers, as schedules of a single goroutine where
// that is possible. If one of these fails, a peer has become better (or worse), and its
// claim must change.

// badgerWith returns a database with some keys.
func badgerWith(t *testing.T, keys ...string) *badger.DB {
	db, err := openBadger()
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	for _, key := range keys {
		require.NoError(t, db.Update(func(tx *badger.Txn) error { return tx.Set([]byte(key), nil) }))
	}
	return db
}

func badgerCount(tx *badger.Txn) (n int) {
	it := tx.NewIterator(badger.DefaultIteratorOptions)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		n++
	}
	return n
}

// Two transactions count the keys, and each inserts one: run one after the other,
// they would not count the same. Badger commits both.
func TestBadgerMissesPhantoms(t *testing.T) {
	db := badgerWith(t, "a", "b")
	t1, t2 := db.NewTransaction(true), db.NewTransaction(true)
	defer t1.Discard()
	defer t2.Discard()
	require.Equal(t, 2, badgerCount(t1))
	require.Equal(t, 2, badgerCount(t2))
	require.NoError(t, t1.Set([]byte("c"), nil))
	require.NoError(t, t2.Set([]byte("d"), nil))
	require.NoError(t, t1.Commit())
	require.NoError(t, t2.Commit())
}

// Write skew is noticed.
func TestBadgerNoticesWriteSkew(t *testing.T) {
	db := badgerWith(t, "a", "b")
	t1, t2 := db.NewTransaction(true), db.NewTransaction(true)
	defer t1.Discard()
	defer t2.Discard()
	_, err := t1.Get([]byte("a"))
	require.NoError(t, err)
	_, err = t2.Get([]byte("b"))
	require.NoError(t, err)
	require.NoError(t, t1.Set([]byte("b"), nil))
	require.NoError(t, t2.Set([]byte("a"), nil))
	require.NoError(t, t1.Commit())
	require.ErrorIs(t, t2.Commit(), badger.ErrConflict)
}
