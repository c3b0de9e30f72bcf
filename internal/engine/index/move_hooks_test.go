//go:build mvcccheck

package index

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// A goroutine that comes back to a cell of another key by now looks its own key up again.
func TestPlaceOfAnotherKey(t *testing.T) {
	x := newTestIndex(func(int) uint64 { return 1 << 60 })
	one := chain.New(1, 0)
	h := hashIn(x, 1)
	p, _ := x.Insert(h, one, Gate{})
	require.True(t, x.Remove(Place{}, one))
	q, _ := x.Insert(h, chain.New(2, 0), Gate{})
	require.Equal(t, p, q)
	_, found := x.Again(p, h, addressOf(1))
	require.Nil(t, found)
}

// A goroutine that sleeps while it puts the next table in the place of one stops nobody.
func TestSleepingReplacer(t *testing.T) {
	x := newTestIndex(nil)
	const n = 20
	for key := range n {
		x.put(chain.New(key, 0))
	}
	old := x.table.Load()
	mover := stage.New(t).Actor("mover", func() {
		x.resize(old, 4)
		for i := range old.buckets {
			x.moveBucket(old, i, true)
		}
	}).To(hooks.TableReplaced)
	for range 2 {
		requireKeys(t, x, n)
		mover.Finish()
	}
	require.NotSame(t, old, x.table.Load())
}

// Every key is found, with its head, at each moment of the move of its cell, even if it is
// overwritten then.
func TestKeysWhileTheirCellsMove(t *testing.T) {
	x := newTestIndex(oneHash)
	want := map[int]*chain.Node{}
	insertInto(x, want, 0)
	insertInto(x, want, 1)
	check := func() {
		t.Helper()
		for key, v := range want {
			_, head := findIn(x, hashIn(x, key), key)
			require.Same(t, v, head)
		}
	}
	now := x.table.Load()
	x.resize(now, 2*len(now.buckets))
	mover := stage.New(t).Actor("mover", func() {
		for i := range now.buckets {
			x.moveBucket(now, i, true)
		}
	}).To(hooks.CellFilled)
	check()
	p, was := findIn(x, hashIn(x, 0), 0)
	want[0] = chain.New(0, 1)
	require.True(t, p.Swap(was, want[0]))
	check()
	mover.To(hooks.CellFilled) // again
	check()
	mover.To(hooks.CellFilled) // of the other key
	check()
	mover.Finish()
	requireIndex(t, want, x)
}
