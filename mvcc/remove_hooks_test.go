//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// How keys leave the index while somebody wants to use them.

// writers write newValue to key, by every path there is.
var writers = map[string]func(m *Map[string, int], key string) error{
	"Store": func(m *Map[string, int], key string) error { m.Store(key, newValue); return nil },
	"Swap":  func(m *Map[string, int], key string) error { m.Swap(key, newValue); return nil },
	"LoadOrStore": func(m *Map[string, int], key string) error {
		m.LoadOrStore(key, newValue)
		return nil
	},
	"put": func(m *Map[string, int], key string) error { return commitTo(m, nil, key) },
	"batch": func(m *Map[string, int], key string) error {
		return commitTo(m, nil, key, "other")
	},
	"read and put": func(m *Map[string, int], key string) error {
		return commitTo(m, func(tx Tx[string, int]) { tx.Get(key) }, key)
	},
	"scan and put": func(m *Map[string, int], key string) error {
		return commitTo(m, func(tx Tx[string, int]) {
			for range tx.All() {
			}
		}, key, "other")
	},
}

func commitTo(m *Map[string, int], read func(Tx[string, int]), keys ...string) error {
	return m.Update(bg, nil, func(tx Tx[string, int]) error {
		if read != nil {
			read(tx)
		}
		for _, key := range keys {
			tx.Set(key, newValue)
		}
		return nil
	})
}

// deleted returns a map whose key x has nothing but a tombstone.
func deleted(t *testing.T) *Map[string, int] {
	m := newMap[string, int](t, still())
	m.Store("x", oldValue)
	m.Delete("x")
	return m
}

// A pruner has taken a key out of the index and stands still before it frees the slot.
// A write to the key goes through; what the pruner frees later is its own slot only.
func TestWriteToKeyThatHasLeft(t *testing.T) {
	for name, write := range writers {
		t.Run(name, func(t *testing.T) {
			m := deleted(t)
			p := newStage(t).actor("pruner", func() { prune(m) }).to(hooks.Gone)
			require.False(t, m.has("x"))
			requireAbsent[int](t)(m.Load("x"))
			s := m.Snapshot()
			defer s.Close()
			requireAbsent[int](t)(s.Get("x"))
			require.NoError(t, write(m, "x"))
			requireValue(t, newValue)(m.Load("x"))
			p.finish()
			requireValue(t, newValue)(m.Load("x"))
			requireAbsent[int](t)(s.Get("x"))
			require.Equal(t, newValue, contents(t, m)["x"])
		})
	}
}

// Reads and deletes of a key that has left find nothing, and wait for nobody.
func TestDeleteOfKeyThatHasLeft(t *testing.T) {
	m := deleted(t)
	p := newStage(t).actor("pruner", func() { prune(m) }).to(hooks.Gone)
	requireAbsent[int](t)(m.LoadAndDelete("x"))
	m.Delete("x")
	require.False(t, CompareAndSwap(m, "x", oldValue, newValue))
	for _, opts := range levels {
		mustUpdate(t, m, opts, func(tx Tx[string, int]) {
			requireAbsent[int](t)(tx.Get("x"))
			for key := range tx.All() {
				require.Equal(t, "y", key)
			}
			tx.Set("y", newValue)
		})
		mustUpdate(t, m, opts, func(tx Tx[string, int]) {
			tx.Delete("x")
		})
	}
	p.finish()
	prune(m)
	require.False(t, m.has("x"))
}

// A pruner has seen the tombstone and is about to take the key out when a
// write comes: then it stays.
func TestPrunerLosesAgainstWrite(t *testing.T) {
	for name, write := range writers {
		t.Run(name, func(t *testing.T) {
			m := deleted(t)
			p := newStage(t).actor("pruner", func() { prune(m) }).to(hooks.PruneFound)
			require.NoError(t, write(m, "x"))
			p.finish()
			requireValue(t, newValue)(m.Load("x"))
			require.Equal(t, newValue, contents(t, m)["x"])
			prune(m)
			requireValue(t, newValue)(m.Load("x"))
		})
	}
}

// A transaction has looked its key up; the key leaves the index, and perhaps comes again,
// before it installs.
func TestKeyLeavesBeforeInstall(t *testing.T) {
	for _, again := range []bool{false, true} {
		for _, opts := range levels {
			for _, point := range []hooks.Point{hooks.CommitEntries, hooks.Installed} {
				m := deleted(t)
				m.Store("a", oldValue)
				w := newStage(t).actor("writer", func() {
					tx := m.Begin(opts)
					for _, key := range []string{"x", "a", "b"} {
						tx.Set(key, newValue)
					}
					if err := tx.Commit(); err != nil {
						panic(err)
					}
				}).to(point)
				prune(m)
				if again {
					m.Store("x", newerValue)
				}
				w.finish()
				require.Equal(t, map[string]int{"x": newValue, "a": newValue, "b": newValue}, contents(t, m))
				checkQuiet(t, m)
			}
		}
	}
}

// Two pruners with views of different age work on one chain; readers hold some
// of its versions. Each view stays true.
func TestPrunersWithDifferentViews(t *testing.T) {
	m := newMap[string, int](t, still())
	var snapshots []Snapshot[string, int]
	for i := range 12 {
		m.Store("x", i)
		m.Store("tick", i)
		if i%3 == 0 {
			snapshots = append(snapshots, m.Snapshot())
		}
	}
	stage := newStage(t)
	old := stage.actor("old pruner", func() { prune(m) }).to(hooks.PruneFound)
	for i := 12; i < 15; i++ {
		m.Store("x", i)
	}
	snapshots[0].Close()
	middle := stage.actor("middle pruner", func() { prune(m) }).to(hooks.PruneFound)
	m.Store("x", 15)
	prune(m)
	snapshots = snapshots[1:]
	see := func() {
		t.Helper()
		for i, s := range snapshots {
			requireValue(t, 3*(i+1))(s.Get("x"))
		}
		requireValue(t, 15)(m.Load("x"))
	}
	see()
	old.finish()
	see()
	middle.finish()
	see()
	prune(m)
	see()
	require.Len(t, chain(m, "x"), len(snapshots)+1)
	for _, s := range snapshots {
		s.Close()
	}
	prune(m)
	require.Len(t, chain(m, "x"), 1)
}

// A pruner that sleeps before it cuts does not link in again what another one with a
// newer view has dropped meanwhile.
func TestPrunerDoesNotLinkDroppedVersions(t *testing.T) {
	m := newMap[string, int](t, still())
	m.Store("k", 1)
	s := m.Snapshot()
	m.Store("k", 2)
	m.Store("k", 3)
	slow := newStage(t).actor("pruner", func() { prune(m) }).to(hooks.PruneWalked) // drops 2, keeps 1
	s.Close()
	prune(m) // drops both
	require.Len(t, chain(m, "k"), 1)
	slow.finish()
	require.Len(t, chain(m, "k"), 1)
	require.EqualValues(t, 2, m.Stats().Pruned, "each is counted once")
	checkQuiet(t, m)
}

// Nor does one that relies on the mark of an old version, as waiting, keep it for
// ever: the visit that ends the wait finds what it has linked.
func TestMarkedVersionIsNotForgotten(t *testing.T) {
	m := newMap[string, int](t, &Options{ManualReclaim: true})
	m.Store("k", 1)
	r := m.Snapshot()
	m.Store("k", 2)
	reclaim(t, m, 4)
	require.Equal(t, 1, m.Stats().Aside, "version 1 waits for r")
	older, k := coreOf(m).gc.View(), m.lookup("k").at
	stage := newStage(t)
	// on top, undecided
	deleter := stage.actor("deleter", func() { m.Delete("k") }).to(hooks.StoreDrawn)
	second := stage.actor("second pruner", func() {
		m.index.list(k, m.hash("k"), addressOf("k"))
		coreOf(m).visit([]item{coreOf(m).item(k.b)}, older, &found{Alone: true})
	}).to(hooks.Dequeued)
	r.Close()
	// from below the top
	first := stage.actor("first pruner", func() { _ = m.Reclaim(bg) }).to(hooks.PruneWalked)
	deleter.finish()
	second.finish() // prunes k from the top, keeps version 1
	first.finish()
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
	owner := newStage(t).actor("owner", func() {
		_ = m.Update(bg, nil, func(tx Tx[string, int]) error {
			tx.Set("x", 1)
			tx.Set("y", 1)
			return nil
		})
	}).to(hooks.Published)
	r := m.Snapshot()
	m.Store("x", 2)
	m.Store("y", 2)
	reclaim(t, m, 4)
	require.Equal(t, 2, m.Stats().Aside, "those before, for the owner's transaction, which is live")
	owner.finish()
	m.Store("x", 3)
	m.Store("y", 3)
	require.NoError(t, m.Reclaim(bg))
	require.Equal(t, 2, m.Stats().Aside)
	r.Close()
	require.NoError(t, m.Reclaim(bg))
	require.Zero(t, m.Stats().Aside)
	require.Equal(t, 2, m.Stats().Versions)
}
