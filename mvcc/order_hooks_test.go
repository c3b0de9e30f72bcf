//go:build mvcccheck

package mvcc

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// Readers, and writers of keys that are there, do not wait for a leaf that an insert has locked, nor
// for one that is being replaced; and an insert that has not let go of the lock has not inserted.
func TestOrderedReadersDoNotWait(t *testing.T) {
	for _, at := range []hooks.Point{hooks.InsertLocked, hooks.LeavesFilled, hooks.SlotFilled} {
		m := newOrdered[int](t, &Options{ManualReclaim: true})
		for key := 10; key < 40; key++ { // as many as a leaf has
			m.Store(key, key)
		}
		if at == hooks.InsertLocked {
			m = newOrdered[int](t, &Options{ManualReclaim: true})
			m.Store(10, 10)
		}
		inserter := newStage(t).actor("inserter", func() { m.Store(2, 2) }).to(at)
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
		inserter.finish()
		require.True(t, m.Has(2))
		requireValue(t, 4)(m.Load(10))
	}
}

// standing reports whether a goroutine is in the function.
func standing(function string) bool {
	stacks := make([]byte, 1<<20)
	return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), function)
}
