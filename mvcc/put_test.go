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
