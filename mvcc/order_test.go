package mvcc

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

func newOrdered[V any](t testing.TB, opts *Options) *Map[int, V] {
	m := NewOrdered[int, V](opts)
	t.Cleanup(m.Close)
	return m
}

type keyValue struct{ key, value int }

func pairs(seq iter.Seq2[int, int]) (all []keyValue) {
	for key, value := range seq {
		all = append(all, keyValue{key, value})
	}
	return all
}

// A commit with many new keys gets through beside one that writes one of them, and keys that were
// not committed leave the tree.
func TestOrderedLargeCommit(t *testing.T) {
	m := newOrdered[int](t, nil)
	n := 30_000
	if testing.Short() {
		n = 3000
	}
	c := stage.NewWorkers(t)
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

// Keys that a commit has deleted leave the tree, though the leaves in which it found them have been
// replaced since: the commit itself has inserted many.
func TestOrderedVisitOfReplaced(t *testing.T) {
	m := newOrdered[int](t, &Options{ManualReclaim: true})
	for k := range 100 {
		m.Store(3*k, 1)
	}
	mustUpdate(t, m, nil, func(tx Tx[int, int]) {
		for k := range 300 {
			if tx.Set(k, 2); k%3 == 0 {
				tx.Delete(k)
			}
		}
	})
	reclaim(t, m, 3)
	require.Len(t, heads(m), 200)
}

// noCase is no order of strings: it returns 0 for some that are not equal.
func noCase(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) }

func reversed(a, b string) int { return cmp.Compare(b, a) }

// An insert of a key that compare takes for another one panics, whether that is among the keys
// that came last, in the tree, or inserted by the same commit; and nothing is left of it.
func TestOrderTakesKeysForEqual(t *testing.T) {
	const says = "the order's compare returns 0 for"
	for _, others := range []int{0, 200} {
		m := NewOrderedFunc[string, int](noCase, nil)
		defer m.Close()
		m.Store("a", 1)
		for i := range others {
			m.Store(fmt.Sprint(i), i)
		}
		inserts := map[string]func(){
			"Store": func() { m.Store("A", 2) },
			"Merge": func() { m.Merge("A", func(int, bool) int { return 2 }) },
			"Update": func() {
				_ = m.Update(context.Background(), nil, func(tx Tx[string, int]) error {
					tx.Get("a")
					tx.Set("A", 2)
					return nil
				})
			},
			"two at once": func() {
				_ = m.Update(context.Background(), nil, func(tx Tx[string, int]) error {
					tx.Set("b", 2)
					tx.Set("B", 3)
					return nil
				})
			},
		}
		for name, insert := range inserts {
			requirePanicText(t, says, insert, name)
			require.Equal(t, 1+others, m.Len(), name)
		}
		m.Delete("a")
		require.NoError(t, m.Reclaim(context.Background()))
		m.Store("A", 2)
		require.Equal(t, 1+others, len(maps.Collect(m.All())), "it was deleted: it is in nobody's way")
	}
}

// A compare that finds a key unequal to itself is noticed as well: it is one that returns a bool
// as a number.
func TestOrderTakesKeyForAnother(t *testing.T) {
	m := NewOrderedFunc[int, int](func(a, b int) int {
		if a < b {
			return -1
		}
		return 1
	}, nil)
	defer m.Close()
	requirePanicText(t, "the order's compare does not return 0 for 1 and itself", func() { m.Store(1, 1) })
	require.Zero(t, m.Len())
}

// An index whose compare takes index keys for equal says so when the second one is written: as
// its entries would be found by both.
func TestIndexTakesKeysForEqual(t *testing.T) {
	for _, unique := range []bool{false, true} {
		db := newDB(t, nil)
		m := NewTable[int, string](db, "names", nil)
		_, err := NewOrderedIndexFunc(m, "by name", noCase,
			func(_ int, name string) []string { return []string{name} }, &IndexOptions{Unique: unique})
		require.NoError(t, err)
		m.Store(1, "ada")
		m.Store(2, "bob")
		requirePanicText(t, "the order's compare returns 0 for", func() { m.Store(3, "Ada") })
		require.Equal(t, 2, m.Len())
		m.Store(3, "eve")
	}
}

// A range by Prefix has no meaning in an order by a function: wherever one is given.
func TestPrefixOfAnotherOrder(t *testing.T) {
	db := newDB(t, nil)
	m := NewOrderedTableFunc[string, string](db, "names", reversed, nil)
	itself := func(_ string, name string) []string { return []string{name} }
	ix, err := NewOrderedIndexFunc(m, "by name", reversed, itself, nil)
	require.NoError(t, err)
	unique, err := NewOrderedIndexFunc(m, "unique", reversed, itself, &IndexOptions{Unique: true})
	require.NoError(t, err)
	natural, err := NewOrderedIndex(m, "natural", itself, nil)
	require.NoError(t, err)
	for _, k := range []string{"a", "ab", "ac", "b"} {
		m.Store(k, k)
	}
	s := m.Snapshot()
	defer s.Close()
	tx := m.Begin(nil)
	defer tx.Rollback()
	for i, call := range []func(r Range[string]){
		func(r Range[string]) { _ = maps.Collect(m.Ascend(r)) },
		func(r Range[string]) { _ = maps.Collect(m.Descend(r)) },
		func(r Range[string]) { _ = maps.Collect(s.Ascend(r)) },
		func(r Range[string]) { _ = maps.Collect(tx.Descend(r)) },
		func(r Range[string]) { _ = maps.Collect(ix.Ascend(m, r)) },
		func(r Range[string]) { _ = maps.Collect(unique.Descend(s, r)) },
		func(r Range[string]) { m.Watch(context.Background(), &WatchOptions[string, string]{Keys: r}) },
	} {
		for _, prefix := range []string{"a", "", "\xff"} {
			requirePanicText(t, errPrefix, func() { call(Prefix(prefix)) }, i)
		}
	}
	require.Equal(t, []string{"ac", "ab", "a"},
		slices.Collect(keys(m.Ascend(From("ac").UpTo("a")))), "ends of one's own")
	require.Equal(t, []string{"b", "ac", "ab", "a"},
		slices.Collect(keys(m.Ascend(Prefix("b").UpTo("a")))), "its end is another one")
	require.Equal(t, []string{"a", "ab", "ac"}, slices.Collect(keys(natural.Ascend(s, Prefix("a")))))
}
