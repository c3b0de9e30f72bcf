package mvcc

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/stage"
)

// A commit with many new keys gets through beside one that writes one of them, and what was not
// committed leaves the tree.
func TestOrderedLargeCommit(t *testing.T) {
	m := newOrdered[int](t, nil)
	n := 30_000
	if testing.Short() {
		n = 3000
	}
	c := stage.NewCrew(t)
	c.Loop(1, func(int, int) error {
		time.Sleep(200 * time.Microsecond)
		m.Store(0, 1)
		return nil
	})
	mustUpdate(t, m, nil, func(tx Tx[int, int]) {
		for k := range n {
			tx.Set(k, k)
		}
	})
	c.Finish(t)
	require.Equal(t, n, len(pairs(m.Ascend(Range[int]{}))))
	before := m.index.Bytes()

	tx := m.Begin(nil)
	tx.Get(1)
	for k := range n {
		tx.Set(n+k, k)
	}
	m.Store(1, 0)
	require.ErrorIs(t, tx.Commit(), ErrConflict)
	require.Equal(t, n, len(heads(m)))
	require.Less(t, m.index.Bytes(), before+before/8, "leaves that are empty go")
}

// A structKey has fields with gaps between them, and a method that the tree must not call.
type structKey struct {
	a string
	b [3]int16
	c bool
}

func (k structKey) Copy() structKey { k.b[0]++; return k }

// A large value is one that Go keeps behind a pointer where it can.
type large [1 << 9]int

func TestOrderedKeysAreNotCopied(t *testing.T) {
	m := NewOrderedFunc[structKey, large](func(a, b structKey) int {
		return cmp.Compare(a.b[0], b.b[0])
	}, nil)
	defer m.Close()
	for i := range 1000 {
		m.Store(structKey{b: [3]int16{int16(i)}}, large{i})
	}
	n := 0
	for key, value := range m.Ascend(Range[structKey]{}) {
		require.EqualValues(t, n, key.b[0])
		require.Equal(t, n, value[0])
		n++
	}
	require.Equal(t, 1000, n)
}

// A compare that panics, as it must not, leaves the map as it was.
func TestOrderedComparePanics(t *testing.T) {
	m := NewOrderedFunc[any, int](func(a, b any) int { return cmp.Compare(a.(int), b.(int)) }, nil)
	defer m.Close()
	m.Store(1, 1)
	require.Panics(t, func() { m.Store("x", 1) })
	require.Panics(t, func() { m.LoadOrStore("x", 1) })
	require.Panics(t, func() { m.Load("x") })
	require.Panics(t, func() {
		m.Compute(2, func(int, bool) (int, ComputeOp) { panic("boom") })
	})
	m.Store(3, 1)
	require.Equal(t, 2, m.Len())
	require.Len(t, heads(m), 2)
}

// A compare that panics in a commit, as it must not, at any of its calls, ends the transaction and
// leaves nothing. The panic is its own, not one of the Rollback that was deferred.
func TestOrderedComparePanicsInCommit(t *testing.T) {
	const n = 100
	left := -1 // how many calls until it panics
	compare := func(a, b int) int {
		if left--; left == 0 {
			panic("boom")
		}
		return cmp.Compare(a, b)
	}
	set := func(tx Tx[int, int]) error {
		for key := range n {
			tx.Set(key, key)
		}
		return nil
	}
	db := NewDB(still()) // the background compares as well
	defer db.Close()
	table := NewOrderedTableFunc[int, int](db, "t", compare, nil)
	alone := NewOrderedFunc[int, int](compare, still())
	defer alone.Close()
	trap := func(tx Tx[int, int], calls int) error {
		err := set(tx)
		left = calls
		return err
	}
	for calls := 1; calls < 1000; calls += 1 + calls/3 {
		begun := func() {
			tx := alone.Begin(nil)
			defer tx.Rollback()
			trap(tx, calls)
			tx.Commit()
		}
		begunInDB := func() {
			tx := db.Begin(nil)
			defer tx.Rollback()
			trap(table.In(tx), calls)
			tx.Commit()
		}
		for i, commit := range []func(){
			begun,
			begunInDB,
			func() { alone.Update(bg, nil, func(tx Tx[int, int]) error { return trap(tx, calls) }) },
			func() { db.Update(bg, nil, func(tx DBTx) error { return trap(table.In(tx), calls) }) },
		} {
			require.PanicsWithValue(t, "boom", commit, "commit %d, call %d", i, calls)
			left = -1
		}
		for _, m := range []*Map[int, int]{alone, table} {
			require.Zero(t, m.Len())
			require.Empty(t, pairs(m.All()))
			require.Zero(t, m.Stats().LiveTx)
			require.NoError(t, m.Update(bg, nil, set))
			require.Equal(t, n, len(pairs(m.Ascend(Range[int]{}))))
			m.Clear()
			reclaim(t, m, 3)
		}
	}
}
