//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// A visit that is asked for by a goroutine that has found the key before its bucket moved.
func TestVisitOfMovedPlace(t *testing.T) {
	x := newTestIndex(nil)
	var queue []*bucket
	x.visit = func(b *bucket) { queue = append(queue, b) }
	v := newNode(1, 0)
	h := hashIn(x, 1)
	p, _ := x.insert(h, v, gate{})
	now := x.table.Load()
	x.resize(now, 4)
	for i := range now.buckets {
		x.move(now, i, true)
	}
	x.ask(p, h, addressOf(1))
	seen := false
	for _, b := range queue {
		visits, heads := askedIn(x, b)
		for i, v := range heads {
			seen = seen || visits[i] && keyOf[int](v) == 1
		}
	}
	require.True(t, seen)
}

// Who comes back to a cell that belongs to another key by now looks its own up again.
func TestPlaceOfAnotherKey(t *testing.T) {
	x := newTestIndex(func(int) uint64 { return 1 << 60 })
	one := newNode(1, 0)
	h := hashIn(x, 1)
	p, _ := x.insert(h, one, gate{})
	require.True(t, x.remove(place{}, one))
	q, _ := x.insert(h, newNode(2, 0), gate{})
	require.Equal(t, p, q)
	_, found := x.again(p, h, addressOf(1))
	require.Nil(t, found)
}

// A goroutine that sleeps while it puts the next table in the place of one stops nobody.
func TestSleepingReplacer(t *testing.T) {
	x := newTestIndex(nil)
	const n = 20
	for key := range n {
		x.put(newNode(key, 0))
	}
	old := x.table.Load()
	mover := newStage(t).actor("mover", func() {
		x.resize(old, 4)
		for i := range old.buckets {
			x.move(old, i, true)
		}
	}).to(hooks.TableReplaced)
	for range 2 {
		requireKeys(t, x, n)
		mover.finish()
	}
	require.NotSame(t, old, x.table.Load())
}

// Every key is found, with its head, at each moment of the move of its cell, even if it is
// overwritten then.
func TestKeysWhileTheirCellsMove(t *testing.T) {
	x := newTestIndex(oneHash)
	want := map[int]*node{}
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
	mover := newStage(t).actor("mover", func() {
		for i := range now.buckets {
			x.move(now, i, true)
		}
	}).to(hooks.CellFilled)
	check()
	p, was := findIn(x, hashIn(x, 0), 0)
	want[0] = newNode(0, 1)
	require.True(t, p.swap(was, want[0]))
	check()
	mover.to(hooks.CellFilled) // again
	check()
	mover.to(hooks.CellFilled) // of the other key
	check()
	mover.finish()
	requireIndex(t, want, x)
}
