//go:build mvcccheck

package mvcc

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/goid"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// A goroutine that sleeps in the middle of a refresh does not let chains grow:
// committers make newer views beside it, and its own does no harm later.
func TestSleepingRefresher(t *testing.T) {
	for _, p := range []hooks.Point{hooks.BoundLoaded, hooks.BoundStored, hooks.SlotsScanned} {
		m := newMap[string, int](t, &Options{ReclaimInterval: time.Hour})
		r := stage.New(t).Actor("refresher", coreOf(m).gc.Refresh).To(p)
		s := m.Snapshot()
		for i := range 10_000 {
			m.Store("k", i)
			if i%1000 == 0 {
				require.LessOrEqual(t, len(chainOf(m, "k")), 1+2+slack, "after %d stores, at %v", i, p)
			}
		}
		bound := coreOf(m).gc.View().Bound
		r.Finish()
		require.GreaterOrEqual(t, coreOf(m).gc.View().Bound, bound)
		requireAbsent[int](t)(s.Get("k"))
		s.Close()
		prune(m)
		require.Len(t, chainOf(m, "k"), 1)
		checkQuiet(t, m)
	}
}

// The number of words that a store looks at does not depend on how many readers there are, though
// chains are as long as these need.
func TestStorePriceBesideReaders(t *testing.T) {
	const keys = 20
	price := func(readers int) float64 {
		b, accesses := besides(t, Options{})[0], 0
		open := make([]Snapshot[int, int], readers)
		b.turnover(open, keys, 2*readers, true)
		self := goid.Get() // not those that other tests have left
		remove := hooks.Accesses(func(unsafe.Pointer) {
			if goid.Get() == self {
				accesses++
			}
		})
		b.turnover(open, keys, 2*readers, true)
		remove()
		closeAll(open)
		return float64(accesses) / float64(2*readers*keys)
	}
	few, many := price(20), price(320)
	t.Logf("%.1f accesses to shared words for a store beside 20 readers, %.1f beside 320", few, many)
	require.Less(t, many, 1.5*few)
}

// Versions pruned while History walks leave no gap in it, though an old reader keeps one beyond
// them.
func TestHistoryBesidePruning(t *testing.T) {
	for steps := range 4 {
		m := newMap[string, int](t, still())
		var old Snapshot[string, int]
		for i := range 10 {
			if m.Store("k", i); i == 5 {
				old = m.Snapshot()
			}
		}
		var got []Revision[int]
		a := stage.New(t).Actor("history", func() { got = History(m, "k") })
		for range steps {
			a.To(hooks.HistoryStep)
		}
		m.Store("k", 10)
		prune(m)
		a.Finish()
		require.GreaterOrEqual(t, got[0].Value, 9)
		for i, r := range got {
			require.Equal(t, got[0].Value-i, r.Value, "%+v", got)
		}
		old.Close()
	}
}

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
