package mvcc

import (
	"math"
	"testing"

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
