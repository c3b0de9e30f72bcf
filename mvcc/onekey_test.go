package mvcc

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCompareAndSwap(t *testing.T) {
	m := newMap[string, int](t, nil)
	require.False(t, CompareAndSwap(m, "x", 0, 1), "an absent key has no value")
	m.Store("x", 0)
	require.True(t, CompareAndSwap(m, "x", 0, 1))
	require.False(t, CompareAndSwap(m, "x", 0, 2))
	requireValue(t, 1)(m.Load("x"))
	require.True(t, CompareAndSwap(m, "x", 1, 1))
	m.Delete("x")
	require.False(t, CompareAndSwap(m, "x", 1, 2))
	prune(m)
	require.False(t, CompareAndSwap(m, "x", 1, 2))
	require.Empty(t, contents(t, m))
}

func TestCompareAndSwapOfUncomparable(t *testing.T) {
	m := newMap[string, any](t, nil)
	m.Store("x", []int{1})
	requireRuntimeError(t, func() { CompareAndSwap[string, any](m, "x", []int{1}, 2) })
	require.False(t, CompareAndSwap[string, any](m, "x", "other type", 2))
	requireValue[any](t, []int{1})(m.Load("x"))
	m.Store("x", 1)
	require.True(t, CompareAndSwap[string, any](m, "x", 1, []int{2}))
	requireValue[any](t, []int{2})(m.Load("x"))
	m.Store("nan", math.NaN())
	require.False(t, CompareAndSwap[string, any](m, "nan", math.NaN(), 1))
	m.Store("nil", nil)
	requireValue[any](t, nil)(m.Load("nil"))
	require.True(t, CompareAndSwap[string, any](m, "nil", nil, 1))
	checkQuiet(t, m)
}

// A value is stored, not copied.
func TestPointersAreShared(t *testing.T) {
	m := newMap[int, *int](t, nil)
	x := 1
	m.Store(1, &x)
	p, _ := m.Load(1)
	require.Same(t, &x, p)
	require.True(t, CompareAndSwap(m, 1, &x, nil))
}

// Put returns the error with which Store panics, and then nothing is written; else it is Store.
func TestPut(t *testing.T) {
	m := newMap[int, int](t, nil)
	require.NoError(t, m.Put(1, 2))
	requireValue(t, 2)(m.Load(1))

	db := newDB(t, &Options{MaxTxAge: time.Hour})
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
	db := newDB(t, nil)
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
