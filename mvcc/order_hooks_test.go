//go:build mvcccheck

package mvcc

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// Readers, and writers of keys that are there, do not wait for a leaf that an insert has locked,
// nor for one that is being replaced; and an insert that has not let go of the lock has not
// inserted.
func TestOrderedReadersDoNotWait(t *testing.T) {
	for _, at := range []hooks.Point{hooks.InsertLocked, hooks.LeavesFilled, hooks.CellFilled} {
		m := newOrdered[int](t, &Options{ManualReclaim: true})
		for key := 10; key < 40; key++ { // as many as a leaf has
			m.Store(key, key)
		}
		if at == hooks.InsertLocked {
			m = newOrdered[int](t, &Options{ManualReclaim: true})
			m.Store(10, 10)
		}
		inserter := stage.New(t).Actor("inserter", func() { m.Store(2, 2) }).To(at)
		_, ok := m.Load(2)
		require.False(t, ok)
		m.Store(10, 3)
		s := m.Snapshot()
		require.Equal(t, []keyValue{{10, 3}}, pairs(s.Ascend(UpTo(10))))
		s.Close()
		mustUpdate(t, m, nil, func(tx Tx[int, int]) {
			tx.Get(2)
			tx.Set(10, 4)
		})
		inserter.Finish()
		require.True(t, m.Has(2))
		requireValue(t, 4)(m.Load(10))
	}
}

// A loop meets the same keys at each moment while a leaf is replaced, its cells marked one by one.
func TestLoopWhileCellsMove(t *testing.T) {
	m := newOrdered[int](t, &Options{ManualReclaim: true})
	var want []keyValue
	for key := range 30 { // as many as a leaf has
		m.Store(2*key, key)
		if key%5 != 2 {
			want = append(want, keyValue{2 * key, key})
		}
	}
	for key := range 30 {
		if key%5 == 2 {
			m.Delete(2 * key)
		}
	}
	s := m.Snapshot()
	defer s.Close()
	m.Store(6, -1) // over the version that the snapshot sees
	down := slices.Clone(want)
	slices.Reverse(down)
	moments := 0
	remove := hooks.Set(func(p hooks.Point) {
		switch p {
		case hooks.LeavesFilled, hooks.CellFilled, hooks.CellsMoved, hooks.LeafReplaced, hooks.ParentKnows:
			moments++
			require.Equal(t, want, pairs(s.Ascend(Range[int]{})))
			require.Equal(t, down, pairs(s.Descend(Range[int]{})))
			require.Equal(t, want[3:9], pairs(s.Ascend(From(want[3].key).UpTo(want[8].key))))
			low, _, _ := s.Min()
			require.Equal(t, 0, low)
		}
	})
	defer remove()
	m.Store(31, 0)
	require.Greater(t, moments, 30)
}
