//go:build mvcccheck

package mvcc

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// The checks of invariants fire: here I1, below a pruner whose view does not know of a reader.
func TestInvariantOfPruning(t *testing.T) {
	m := newMap[string, int](t, still())
	m.Store("k", 1)
	m.Store("k", 2)
	tx := m.Begin(nil) // one that may write
	defer tx.Rollback()
	s := m.Snapshot()
	defer s.Close()
	m.Store("k", 3)
	now := coreOf(m).Slots.Now()
	k := m.lookup("k")
	v, ok := panicOf(func() {
		view := &gc.View{View: epoch.ViewOf(now, now, nil, nil)}
		coreOf(m).prune(k.at, k.head, view, math.MaxInt, nil)
		s.Get("k")
	}).(*invariant.Violation)
	require.True(t, ok, "no violation")
	require.ErrorContains(t, v, "I1")
	k.at.Cell().Store(nil) // the background work is to leave it alone
}
