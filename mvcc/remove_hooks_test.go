//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// How keys leave the index while somebody wants to use them.

// A pruner that sleeps before it cuts does not link in again the versions that another one with a
// newer view has dropped meanwhile.
func TestPrunerDoesNotLinkDroppedVersions(t *testing.T) {
	m := newMap[string, int](t, still())
	m.Store("k", 1)
	s := m.Snapshot()
	m.Store("k", 2)
	m.Store("k", 3)
	slow := stage.New(t).Actor("pruner", func() { prune(m) }).To(hooks.PruneWalked) // drops 2, keeps 1
	s.Close()
	prune(m) // drops both
	require.Len(t, chainOf(m, "k"), 1)
	slow.Finish()
	require.Len(t, chainOf(m, "k"), 1)
	require.EqualValues(t, 2, m.Stats().Pruned, "each is counted once")
	checkQuiet(t, m)
}

// Nor does one that relies on the mark of an old version, as waiting, keep it for ever: the visit
// that ends the wait finds that version.
func TestMarkedVersionIsNotForgotten(t *testing.T) {
	m := newMap[string, int](t, &Options{ManualReclaim: true})
	m.Store("k", 1)
	r := m.Snapshot()
	m.Store("k", 2)
	reclaim(t, m, 4)
	require.Equal(t, 1, m.Stats().Aside, "version 1 waits for r")
	older, k := coreOf(m).gc.View(), m.lookup("k").at
	stage := stage.New(t)
	// on top, undecided
	deleter := stage.Actor("deleter", func() { m.Delete("k") }).To(hooks.StoreDrawn)
	second := stage.Actor("second pruner", func() {
		m.index.List(k, m.hash("k"), keyAt("k"))
		coreOf(m).visitBucket(k.Bucket, older, &found{Alone: true})
	}).To(hooks.Dequeued)
	r.Close()
	// from below the top
	first := stage.Actor("first pruner", func() { _ = m.Reclaim(bg) }).To(hooks.PruneWalked)
	deleter.Finish()
	second.Finish() // prunes k from the top, keeps version 1
	first.Finish()
	reclaim(t, m, 3)
	require.Empty(t, heads(m))
	checkQuiet(t, m)
}

// A version whose owner sleeps before it has copied the commit epoch into it is not marked as
// waiting: the state is its owner's to write, and the mark would be lost. It is looked at again.
func TestNoMarkBeforeCopy(t *testing.T) {
	m := newMap[string, int](t, &Options{ManualReclaim: true})
	m.Store("x", 0)
	m.Store("y", 0)
	owner := stage.New(t).Actor("owner", func() {
		_ = m.Update(bg, nil, func(tx Tx[string, int]) error {
			tx.Set("x", 1)
			tx.Set("y", 1)
			return nil
		})
	}).To(hooks.Published)
	r := m.Snapshot()
	m.Store("x", 2)
	m.Store("y", 2)
	reclaim(t, m, 4)
	require.Equal(t, 2, m.Stats().Aside, "those before, for the owner's transaction, which is live")
	owner.Finish()
	m.Store("x", 3)
	m.Store("y", 3)
	require.NoError(t, m.Reclaim(bg))
	require.Equal(t, 2, m.Stats().Aside)
	r.Close()
	require.NoError(t, m.Reclaim(bg))
	require.Zero(t, m.Stats().Aside)
	require.Equal(t, 2, m.Stats().Versions)
}
