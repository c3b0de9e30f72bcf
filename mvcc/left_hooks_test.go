//go:build mvcccheck

package mvcc

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/goid"
	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/stage"
)

// stops are the points at which nobody holds what others may wait for.
func stops() (points uint64) {
	for p := range hooks.Points {
		switch p {
		case hooks.BoundLoaded, hooks.BoundStored, hooks.SlotsScanned, hooks.InsertLocked,
			hooks.CellTagged, hooks.RemoveLocked, hooks.RemoveEmptied, hooks.CellFilled, hooks.CellsMoved,
			hooks.LeavesFilled, hooks.ParentKnows:
		default:
			points |= 1 << p
		}
	}
	return points
}

// Functions leave, by a panic or Goexit, at whichever call, while others are in the midst of
// something: nobody is in their way, of each transaction all is seen or nothing, and what comes
// later is whole.
func TestLeftSchedules(t *testing.T) {
	oneProcessor(t)
	sprung := map[string]int{}
	for n := range stage.Sizes(2000, 300) {
		// In a bubble turns take no time.
		synctest.Test(t, func(t *testing.T) { leftSchedule(t, *scheduleSeed+uint64(n), sprung) })
	}
	for _, kind := range leftKinds {
		require.NotZero(t, sprung[kind], kind)
	}
	t.Log(sprung)
}

var leftKinds = []string{"fn", "compare", "compare index", "keys", "merge", "until", "OnCommit",
	"deferred", "visit"}

func leftSchedule(t *testing.T, seed uint64, sprung map[string]int) {
	r := rand.New(rand.NewPCG(seed, 11))
	actors, points := stage.New(t), stops()
	w := newLeaving(t, -r.IntN(2))
	defer w.db.Close()
	if r.IntN(4) == 0 {
		w.db.Close() // committers prune
	}
	w.kind, w.n = leftKinds[r.IntN(len(leftKinds))], 1+min(r.IntN(30), r.IntN(30))
	names := []string{pick(r, leavers), pick(r, others), pick(r, others)}
	switch {
	case w.kind == "until" && r.IntN(2) == 0:
		names[0], names[1] = "Store", "transaction" // which may help
	case names[1] == names[2] && (names[1] == "NewIndex" || names[1] == "Reclaim"):
		names[1] = "View" // one of these would wait for the other
	case r.IntN(2) == 0:
		names[1] = pick(r, leavers)
	}
	var live []*stage.Actor
	for i, name := range names {
		f := func() { w.ended[i] = leavers[name](w, i) }
		if other := others[name]; other != nil {
			f = func() { other(w) }
		}
		live = append(live, actors.Actor(name, f))
	}
	all := slices.Clone(live)
	w.again = max(0, r.IntN(12)-4)
	first, second := r.IntN(2), r.IntN(2)
	w.exits = [2]func(){runtime.Goexit, runtime.Goexit}
	if first == 0 {
		w.exits[0] = func() { panic(errTrip) }
	}
	if second == 0 {
		w.exits[1] = func() { panic(errAgain) }
	}
	where := fmt.Sprintf("-schedule-seed %d: %q, call %d of %s, and %d later: %d %d", seed, names,
		w.n, w.kind, w.again, first, second)
	for left, at := r.IntN(300), 0; len(live) > 0; left-- {
		if at >= len(live) || left > 0 && r.IntN(4) == 0 {
			at = r.IntN(len(live))
		}
		if left == 0 {
			points = 0
		}
		if _, more := live[at].Step(points); !more {
			live = slices.Delete(live, at, at+1)
		}
	}
	w.kind, w.again = "", 0
	for i := range w.sprung {
		sprung[w.what[i]]++
	}
	where += fmt.Sprintf(" %q", w.what)
	var want, got []any // what comes out
	swallowed := w.what[0] == "until" && first == 0
	if w.sprung > 0 && first == 0 && !swallowed {
		want = []any{errTrip}
	}
	switch {
	case w.sprung < 2 || second == 0 && w.what[1] == "until":
	case second == 1:
		want = nil
	case swallowed || w.what[1] == "deferred":
		want = []any{errAgain}
	}
	for _, a := range all {
		if a.Result != nil {
			got = append(got, a.Result)
		}
	}
	require.Equal(t, want, got, where)
	time.Sleep(time.Minute) // turns end by themselves
	w.check(t, where)
}

// A transaction that helps a writer calls until of the other one's record. If that ends the
// goroutine, the transaction is rolled back as any other.
func TestHelperLeft(t *testing.T) {
	for name, read := range map[string]func(tx Tx[int, int]){
		"Get":          func(tx Tx[int, int]) { tx.Get(1) },
		"GetForUpdate": func(tx Tx[int, int]) { tx.GetForUpdate(1) },
		"Savepoint": func(tx Tx[int, int]) {
			_ = tx.Savepoint(func() error { tx.Get(1); return nil })
		},
		"All": func(tx Tx[int, int]) {
			for range tx.All() {
			}
		},
		"Commit": func(tx Tx[int, int]) { tx.Get(2); tx.Set(1, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMap[int, int](t, still())
			m.Store(1, 1)
			leaves := false
			m.Expire(func(int, int) time.Time {
				if leaves {
					runtime.Goexit()
				}
				return time.Time{}
			})
			w := stage.New(t).Actor("writer", func() { m.Store(1, 2) }).To(hooks.StoreInstalled)
			leaves = true
			returned, panicked := run(func() {
				_ = m.Update(bg, nil, func(tx Tx[int, int]) error { read(tx); return nil })
			})
			leaves = false
			require.False(t, returned)
			require.Nil(t, panicked)
			w.Finish()
			requireValue(t, 2)(m.Load(1))
			checkQuiet(t, m)
		})
	}
}

// The goroutine that serves the watches helps a writer too. If until ends it all watches have a
// gap, and none waits for ever.
func TestHubLeft(t *testing.T) {
	m := newMap[int, int](t, still())
	m.Store(1, 1)
	var writer goid.ID
	var leaves atomic.Bool
	m.Expire(func(int, int) time.Time {
		if leaves.Load() && goid.Get() != writer {
			leaves.Store(false)
			runtime.Goexit()
		}
		return time.Time{}
	})
	all := m.Watch(t.Context(), nil)
	w := stage.New(t).Actor("writer", func() {
		writer = goid.Get()
		leaves.Store(true)
		m.Store(1, 2)
	}).To(hooks.Told)
	stage.Eventually(t, func() bool { return !leaves.Load() }, "nobody helps")
	w.Finish()
	told := make(chan error, 1)
	go func() {
		for _, err := range all {
			told <- err
			break
		}
	}()
	require.ErrorIs(t, stage.Await(t, told, "the watch is told nothing"), ErrGap)
	checkQuiet(t, m)
}
