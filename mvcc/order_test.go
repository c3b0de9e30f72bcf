package mvcc

import (
	"iter"
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
