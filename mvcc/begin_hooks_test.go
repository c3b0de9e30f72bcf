//go:build mvcccheck

package mvcc

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// A transaction begins while a view is made and a version is overwritten: every
// order of the steps
//
//	begin    load clock | store slot | check bound
//	refresh  load clock | store bound | scan slots | store view
//	write    x = 2
//
// Then everything that the view allows to drop is dropped, and the transaction
// must find the value of its own epoch.
func TestBeginMeetsRefresh(t *testing.T) {
	const begin, refresh, write = 0, 1, 2
	steps := [3]int{begin: 3, refresh: 4, write: 1}
	stage := newStage(t)
	runs, outcomes := 0, map[int]int{}

	run := func(order []int) {
		m := New[string, int](still())
		defer m.Close()
		m.Store("x", 1)
		m.Store("other", 1)
		m.Load("x")
		coreOf(m).gc.Refresh()
		var s Snapshot[string, int]
		actors := [3]*actor{
			stage.actor("begin", func() { s = m.Snapshot() }),
			stage.actor("refresh", func() { coreOf(m).gc.Refresh() }),
			stage.actor("write", func() { m.Store("x", 2) }),
		}
		const points = 1<<hooks.BeginLoaded | 1<<hooks.BeginStored |
			1<<hooks.BoundLoaded | 1<<hooks.BoundStored | 1<<hooks.SlotsScanned
		for _, who := range order {
			actors[who].step(points)
		}
		for _, a := range actors { // one that began again has more steps
			for _, more := a.step(points); more; _, more = a.step(points) {
			}
			require.Nil(t, a.result)
		}
		view := coreOf(m).gc.View()
		for _, h := range heads(m) {
			coreOf(m).prune(h.at, h.head, view, math.MaxInt, nil)
		}
		want := 1
		if s.Epoch() >= chain(m, "x")[0].Epoch {
			want = 2
		}
		got, ok := s.Get("x")
		require.True(t, ok, "absent, at epoch %d with view %+v, order %v", s.Epoch(), view, order)
		require.Equal(t, want, got, "epoch %d, view %+v, order %v", s.Epoch(), view, order)
		require.True(t, stateOf(s.st).epoch() >= view.Bound || stateOf(s.st).epoch() >= view.Min && view.Len() > 0,
			"epoch %d is not in view %+v", s.Epoch(), view)
		s.Close()
		outcomes[want]++
		runs++
	}

	var interleave func(order []int, left [3]int)
	interleave = func(order []int, left [3]int) {
		if left == [3]int{} {
			run(order)
			return
		}
		for who := range left {
			if left[who] > 0 {
				next := left
				next[who]--
				interleave(append(order[:len(order):len(order)], who), next)
			}
		}
	}
	interleave(nil, steps)
	require.Equal(t, 280, runs)
	require.NotZero(t, outcomes[1])
	require.NotZero(t, outcomes[2])
}

// A snapshot that stays open across a deletion keeps the entry, whatever is
// inserted, deleted and pruned meanwhile; afterwards it goes.
func TestSnapshotAcrossDeletion(t *testing.T) {
	m := newMap[string, int](t, still())
	s0 := m.Snapshot()
	m.Store("x", 1)
	s1 := m.Snapshot()
	m.Delete("x")
	s2 := m.Snapshot()
	prune(m)
	m.Store("x", 3)
	s3 := m.Snapshot()
	m.Delete("x")
	prune(m)
	see := func(opened ...Snapshot[string, int]) {
		t.Helper()
		for _, s := range opened {
			want := map[Snapshot[string, int]]int{s1: 1, s3: 3}[s]
			got, ok := s.Get("x")
			require.Equal(t, want != 0, ok)
			require.Equal(t, want, got)
			n := 0
			for key, value := range s.All() {
				require.Equal(t, "x", key)
				require.Equal(t, want, value)
				n++
			}
			require.Equal(t, min(want, 1), n)
			require.Equal(t, n, s.Len())
		}
	}
	for range 2 {
		see(s0, s1, s2, s3)
		prune(m)
	}
	s1.Close()
	prune(m)
	see(s0, s2, s3)
	s0.Close()
	prune(m)
	see(s2, s3)
	s3.Close()
	prune(m)
	see(s2)
	s2.Close()
	prune(m)
	require.Empty(t, heads(m))
}

// A goroutine that sleeps in the middle of a refresh does not let chains grow:
// committers make newer views beside it, and its own does no harm later.
func TestSleepingRefresher(t *testing.T) {
	for _, p := range []hooks.Point{hooks.BoundLoaded, hooks.BoundStored, hooks.SlotsScanned} {
		m := newMap[string, int](t, &Options{ReclaimInterval: time.Hour})
		r := newStage(t).actor("refresher", coreOf(m).gc.Refresh).to(p)
		s := m.Snapshot()
		for i := range 10_000 {
			m.Store("k", i)
			if i%1000 == 0 {
				require.LessOrEqual(t, len(chain(m, "k")), 1+2+slack, "after %d stores, at %v", i, p)
			}
		}
		bound := coreOf(m).gc.View().Bound
		r.finish()
		require.GreaterOrEqual(t, coreOf(m).gc.View().Bound, bound)
		requireAbsent[int](t)(s.Get("k"))
		s.Close()
		prune(m)
		require.Len(t, chain(m, "k"), 1)
		checkQuiet(t, m)
	}
}
