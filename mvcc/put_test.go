package mvcc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Put returns the error with which Store panics, and then nothing is written; else it is Store.
func TestPut(t *testing.T) {
	m := newMap[int, int](t, nil)
	require.NoError(t, m.Put(1, 2))
	requireValue(t, 2)(m.Load(1))

	db := NewDB(&Options{MaxTxAge: time.Hour})
	defer db.Close()
	names := NewTable[int, string](db, "names", nil)
	byName, err := NewIndex(names, "by name", func(_ int, name string) []string {
		return []string{name}
	}, &IndexOptions{Unique: true})
	require.NoError(t, err)
	require.NoError(t, names.Put(1, "ada"))
	require.NoError(t, names.Put(1, "ada"), "no index key changes")
	require.NoError(t, names.Put(2, "bob"))
	var unique *UniqueError
	require.ErrorAs(t, names.Put(3, "ada"), &unique)
	require.Equal(t, [2]any{1, 3}, unique.Records)
	require.ErrorAs(t, names.Put(2, "ada"), &unique)
	require.Panics(t, func() { names.Store(2, "ada") })
	requireValue(t, "bob")(names.Load(2))
	require.Equal(t, 2, names.Len())
	key, _, ok := byName.First(names, "bob")
	require.True(t, ok)
	require.Equal(t, 2, key)

	floats := newMap[float64, int](t, nil)
	nan := 0.0
	nan /= nan
	require.PanicsWithValue(t, ErrBadKey, func() { _ = floats.Put(nan, 1) })
}

// A ReadWriter that is a transaction puts as well, and its commit says whether that may be.
func TestPutInTransaction(t *testing.T) {
	db := NewDB(nil)
	defer db.Close()
	names := NewTable[int, string](db, "names", nil)
	_, err := NewIndex(names, "by name", func(_ int, name string) []string {
		return []string{name}
	}, &IndexOptions{Unique: true})
	require.NoError(t, err)
	swap := func(w ReadWriter[int, string]) error {
		if err := w.Put(1, "bob"); err != nil {
			return err
		}
		return w.Put(2, "ada")
	}
	names.Store(1, "ada")
	names.Store(2, "bob")
	var unique *UniqueError
	require.ErrorAs(t, swap(names), &unique, "one at a time it cannot be")
	requireValue(t, "ada")(names.Load(1))
	require.NoError(t, names.Update(bg, nil, func(tx Tx[int, string]) error { return swap(tx) }))
	requireValue(t, "bob")(names.Load(1))
	require.ErrorAs(t, names.Update(bg, nil, func(tx Tx[int, string]) error {
		return tx.Put(3, "ada")
	}), &unique)
}
