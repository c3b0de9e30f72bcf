package mvcc

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneKey(t *testing.T) {
	for name, opts := range map[string]*Options{"default": nil, "still": still(),
		"pruned at once": {PruneThreshold: 1, ReclaimWorkers: -1}} {
		t.Run(name, func(t *testing.T) {
			m := newMap[string, int](t, opts)
			requireAbsent[int](t)(m.Load("x"))
			requireAbsent[int](t)(m.LoadAndDelete("x"))
			requireAbsent[int](t)(m.Swap("x", 1))
			requireValue(t, 1)(m.Load("x"))
			requireValue(t, 1)(m.Swap("x", 2))
			requireValue(t, 2)(m.LoadOrStore("x", 3))
			requireValue(t, 2)(m.Load("x"))
			m.Store("x", 4)
			requireValue(t, 4)(m.LoadAndDelete("x"))
			requireAbsent[int](t)(m.LoadAndDelete("x"))
			requireAbsent[int](t)(m.Load("x"))
			actual, loaded := m.LoadOrStore("x", 5)
			require.False(t, loaded)
			require.Equal(t, 5, actual)
			m.Delete("x")
			m.Delete("x")
			requireAbsent[int](t)(m.Swap("x", 6))
			m.Store("y", 7)
			require.Equal(t, map[string]int{"x": 6, "y": 7}, contents(t, m))
			checkQuiet(t, m)
		})
	}
}

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

// Values and keys of all shapes.
func TestValues(t *testing.T) {
	roundTrip[struct{}, struct{}](t, struct{}{}, struct{}{})
	roundTrip[string, any](t, "", "")
	roundTrip[string, any](t, strings.Repeat("k", 1<<16), strings.Repeat("v", 1<<16))
	roundTrip[string, any](t, "slice", []int{1, 2})
	roundTrip[string, any](t, "map", map[int]int{1: 1})
	roundTrip[string, any](t, "nil", nil)
	roundTrip[any, int](t, nil, 1)
	roundTrip(t, structKey{"a", [3]int16{1, 2, 3}, true}, large{1: 2, len(large{}) - 1: 3})
}

func roundTrip[K comparable, V any](t *testing.T, key K, value V) {
	t.Helper()
	m := newMap[K, V](t, nil)
	requireAbsent[V](t)(m.Load(key))
	m.Store(key, value)
	requireValue(t, value)(m.Load(key))
	m.Delete(key)
	requireAbsent[V](t)(m.Load(key))
	mustUpdate(t, m, nil, func(tx Tx[K, V]) {
		requireAbsent[V](t)(tx.Get(key))
		tx.Set(key, value)
		requireValue(t, value)(tx.Get(key))
	})
	s := m.Snapshot()
	m.Delete(key)
	requireValue(t, value)(s.Get(key))
	require.Equal(t, 1, s.Len())
	s.Close()
	requireAbsent[V](t)(m.Load(key))
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
