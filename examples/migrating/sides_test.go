// Package migrating_test has the code of docs/migrating.md.
package migrating_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"sync"
	"testing"

	"github.com/puzpuzpuz/xsync/v4"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A syncMap has the methods of sync.Map, except for those that compare values, and an xsyncMap those
// of xsync.Map that sync.Map has not. Op is the type of operations.
type (
	syncMap interface {
		Load(key any) (value any, ok bool)
		Store(key, value any)
		LoadOrStore(key, value any) (actual any, loaded bool)
		LoadAndDelete(key any) (value any, loaded bool)
		Delete(key any)
		Range(f func(key, value any) bool)
		Clear()
	}
	xsyncMap[Op any] interface {
		LoadOrCompute(key string, fn func() (n int, cancel bool)) (actual int, loaded bool)
		Compute(key string, fn func(old int, loaded bool) (int, Op)) (actual int, ok bool)
		All() iter.Seq2[string, int]
	}
)

// Programs for both run with a Map.
var (
	_ = []syncMap{new(sync.Map), new(mvcc.Map[any, any])}

	_ xsyncMap[xsync.ComputeOp] = new(xsync.Map[string, int])
	_ xsyncMap[mvcc.ComputeOp]  = new(mvcc.Map[string, int])
)

// From a mutex and a map.

var errFunds = errors.New("insufficient funds")

type lockedBank struct {
	mu       sync.RWMutex
	balances map[string]int
}

func (b *lockedBank) transfer(from, to string, n int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.balances[from] < n {
		return errFunds
	}
	b.balances[from] -= n
	b.balances[to] += n
	return nil
}

func (b *lockedBank) total() (sum int) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, n := range b.balances {
		sum += n
	}
	return sum
}

type bank struct {
	balances *mvcc.Map[string, int]
}

func (b *bank) transfer(ctx context.Context, from, to string, n int) error {
	return b.balances.Update(ctx, nil, func(tx mvcc.Tx[string, int]) error {
		balance, _ := tx.Get(from)
		if balance < n {
			return errFunds
		}
		tx.Set(from, balance-n)
		balance, _ = tx.Get(to) // after the Set: from may be to
		tx.Set(to, balance+n)
		return nil
	})
}

func (b *bank) total() (sum int) {
	for _, n := range b.balances.All() { // writers go on meanwhile
		sum += n
	}
	return sum
}

// TestDifferences shows the differences that the page names.
func TestDifferences(t *testing.T) {
	x, m := xsync.NewMap[string, int](), mvcc.New[string, int](nil)
	defer m.Close()

	old, loaded := x.LoadAndStore("n", 7)
	require.Equal(t, 7, old)
	require.False(t, loaded)
	old, loaded = m.Swap("n", 7)
	require.Zero(t, old)
	require.False(t, loaded)

	nan := math.NaN()
	var s sync.Map
	s.Store(nan, "lost")
	_, ok := s.Load(nan)
	require.False(t, ok)
	f := mvcc.New[float64, string](nil)
	defer f.Close()
	require.PanicsWithValue(t, mvcc.ErrBadKey, func() { f.Store(nan, "lost") })

	var zero mvcc.Map[string, int]
	require.PanicsWithValue(t, "mvcc: the Map is a zero value: make one with mvcc.New",
		func() { zero.Store("n", 1) })
}

// TestSides runs both sides of each pair.
func TestSides(t *testing.T) {
	ctx := t.Context()
	l := &lockedBank{balances: map[string]int{"alice": 100}}
	require.NoError(t, l.transfer("alice", "bob", 30))
	require.NoError(t, l.transfer("alice", "alice", 30))
	require.ErrorIs(t, l.transfer("alice", "bob", 71), errFunds)
	require.Equal(t, 100, l.total())
	b := &bank{mvcc.New[string, int](nil)}
	defer b.balances.Close()
	b.balances.Store("alice", 100)
	require.NoError(t, b.transfer(ctx, "alice", "bob", 30))
	require.NoError(t, b.transfer(ctx, "alice", "alice", 30))
	require.ErrorIs(t, b.transfer(ctx, "alice", "bob", 71), errFunds)
	require.Equal(t, 100, b.total())
}
