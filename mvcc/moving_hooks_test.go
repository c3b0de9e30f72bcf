//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hasher"
	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/index"
	"github.com/mvccmap/mvccmap/internal/stage"
)

// moving returns a map of n keys, those from 8 on in the second of two buckets, and
// a goroutine that stands at p while it moves the first one to a table of four.
func moving(t *testing.T, n int, p hooks.Point) (m *Map[int, int], mover *stage.Actor) {
	m = newMap[int, int](t, still())
	x := m.index
	x.Unattended(2)
	x.Remake(2)
	x.Hash = hasher.Given(func(key int) uint64 {
		return uint64(min(key/8, 1))<<63 | uint64(key%2)<<62 | uint64(key)
	})
	for key := range n {
		m.Store(key, key)
	}
	mover = stage.New(t).Actor("mover", func() {
		x.ResizeTo(4)
		x.MoveFirst()
	}).To(p)
	return m, mover
}

// A key does not leave while its bucket moves: neither table has it afterwards.
func TestKeyLeavesWhileItMoves(t *testing.T) {
	m, mover := moving(t, 5, hooks.CellFilled)
	h := m.lookup(0).head
	gone := make(chan bool)
	go func() { gone <- m.index.Remove(index.Place{}, h) }()
	for range 1000 { // it waits for the bucket
		require.True(t, m.has(0))
	}
	mover.Finish()
	require.True(t, stage.Await(t, gone, "remove waits for ever"))
	require.False(t, m.has(0))
	m.Store(0, 9)
	requireValue(t, 9)(m.Load(0))
	require.Len(t, contents(t, m), 5)
	require.Len(t, heads(m), 5)
}

// A key that is being inserted is there for nobody, or for all: for one that comes back to the
// cell that it had before, and for one that looks for it.
func TestKeyIsThereForAll(t *testing.T) {
	m := newMap[int, int](t, still())
	x := m.index
	m.Store(1, 1)
	h := m.hash(1)
	p, v := x.Find(h, keyAt(1))
	require.True(t, x.Remove(index.Place{}, v))
	w := stage.New(t).Actor("writer", func() { m.Store(1, 2) }).To(hooks.CellTagged)
	_, back := x.Again(p, h, keyAt(1))
	_, found := x.Find(h, keyAt(1))
	require.Same(t, found, back)
	w.Finish()
	now, head := x.Again(p, h, keyAt(1))
	require.Equal(t, p, now)
	require.NotNil(t, head)
}
