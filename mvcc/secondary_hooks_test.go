//go:build mvcccheck

package mvcc

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// Somebody has locked a bucket to insert a key, and found that the table has no indexes.
// NewIndex waits for it.
func TestIndexWaitsForInsert(t *testing.T) {
	x := newIndexing(t, false)
	s := stage.New(t)
	inserter := s.Actor("inserter", func() { x.m.Store(1, 8) }).To(hooks.InsertLocked)
	var built atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.build(t)
		built.Store(true)
	}()
	require.Eventually(t, func() bool {
		return built.Load() || stage.Standing("PassLocks")
	}, stage.Patience, time.Millisecond)
	require.False(t, built.Load())
	inserter.Finish()
	<-done
	x.check(t, x.m)
}

// A loop over an index visits no record that it has looked up while its snapshot was closed.
func TestSnapshotClosedDuringIndexGet(t *testing.T) {
	db := newDB(t, &Options{ManualReclaim: true})
	table := NewTable[string, int](db, "table", nil)
	ix, err := NewIndex(table, "value", func(_ string, v int) []int { return []int{v} }, nil)
	require.NoError(t, err)
	table.Store("x", 1)
	s, visited := table.Snapshot(), false
	r := stage.New(t).Actor("reader", func() {
		for range ix.Get(s, 1) {
			visited = true
		}
	}).To(hooks.GetWalked)
	s.Close()
	_, ok := r.Step(0)
	require.False(t, ok)
	require.Equal(t, any(ErrTxDone), r.Result)
	require.False(t, visited)
}
