//go:build mvcccheck

package mvcc

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// The record in the slot: others meet it while it is being used, and used again.

// The values of these tests: the old one of a key, the new one, and the one after that.
const (
	oldValue = 1 + iota
	newValue
	newerValue
)

// pair returns a map with x = y = oldValue.
func pair(t *testing.T) *Map[string, int] {
	m := newMap[string, int](t, still())
	m.Store("x", oldValue)
	m.Store("y", oldValue)
	return m
}

// both checks that a reader sees the same value of x and y.
func both(t *testing.T, r Reader[string, int], want int) {
	t.Helper()
	requireValue(t, want)(r.Get("x"))
	requireValue(t, want)(r.Get("y"))
}

// batch writes x and y = newValue; with reads, it has read both, and another key, so that it
// validates.
func batch(t *testing.T, m *Map[string, int], reads bool) func() {
	return func() {
		tx := m.Begin(nil)
		defer tx.Rollback()
		if reads {
			tx.Get("x")
			tx.Get("y")
			tx.Get("never written")
		}
		tx.Set("x", newValue)
		tx.Set("y", newValue)
		if err := tx.Commit(); err != nil {
			panic(err)
		}
	}
}

// The version below says by itself only later when it was committed: a writer that puts
// one on top does not take the number of a slot for its commit epoch, and trims.
func TestTrimAsksTheRecord(t *testing.T) {
	m := pair(t)
	for range 10 {
		m.Store("x", oldValue) // the clock is above the epoch that the number of a slot looks like
	}
	s := m.Snapshot()
	defer s.Close()
	w := stage.New(t).Actor("writer", batch(t, m, false)).To(hooks.Published)
	coreOf(m).gc.Refresh()
	m.Store("x", newerValue)
	requireValue(t, oldValue)(s.Get("x"))
	w.Finish()
	both(t, s, oldValue)
}

// A transaction that validates is aborted while it is announced. A helper that met it
// then does not put the epoch that it draws now into a later attempt: somebody
// that began in between has passed over that. A bit of the slot's record tells each
// attempt from the next one, and nothing but the floor from the one after that.
func TestHelperOfAbortedAttempt(t *testing.T) {
	cancel := func(int, bool) (int, ComputeOp) { return 0, CancelOp }
	for later := 1; later <= 2; later++ {
		t.Run(fmt.Sprint(later), func(t *testing.T) {
			m := pair(t)
			stage := stage.New(t)
			w := stage.Actor("writer", func() {
				tx := m.Begin(nil)
				defer tx.Rollback()
				tx.Get("never written")
				tx.Set("x", newValue)
				tx.Set("y", newValue)
				if err := tx.Commit(); err != nil {
					panic(err)
				}
			}).To(hooks.JustAnnounced)
			h := stage.Actor("helper", func() { m.Load("x") }).To(hooks.HelpTold)
			for range later {
				m.Compute("x", cancel) // a rival, which draws nothing itself
				w.To(hooks.InstalledAll)
			}
			require.EqualValues(t, later, m.Stats().Reinstalled)
			h.To(hooks.HelpDrawn)
			s := m.Snapshot()
			x, _ := s.Get("x")
			w.To(hooks.JustAnnounced)
			h.Finish()
			w.Finish()
			both(t, s, x)
			require.Equal(t, oldValue, x)
			s.Close()
			checkQuiet(t, m)
		})
	}
}

// A reader has seen that the slot decides, and sleeps before it asks there. Meanwhile the
// transaction has ended, and the slot serves another one: the question is not about that.
func TestRecordServesAnother(t *testing.T) {
	oneProcessor(t) // the pool gives the state back that was used last
	m := pair(t)
	stage := stage.New(t)
	first := m.Begin(nil)
	state := first.st
	first.Set("x", newValue)
	first.Set("y", newValue)
	w := stage.Actor("first", func() { _ = first.Commit() }).To(hooks.Published)
	s := m.Snapshot()
	defer s.Close()
	var x int
	r := stage.Actor("reader", func() { x, _ = s.Get("x") }).To(hooks.StateLoaded)
	w.Finish()
	second := m.Begin(nil)
	for second.st != state { // under the race detector it is one of the first few
		defer second.Rollback()
		second = m.Begin(nil)
	}
	second.Set("a", newerValue)
	second.Set("b", newerValue)
	another := stage.Actor("second", func() { _ = second.Commit() }).To(hooks.InstalledAll)
	r.Finish()
	require.Equal(t, newValue, x)
	another.Finish()
	both(t, s, newValue)
}

// A snapshot is closed while another goroutine reads through it; its slot may serve somebody else
// by then, and the version that the walk found means nothing.
func TestSnapshotClosedDuringGet(t *testing.T) {
	for _, reused := range []bool{false, true} {
		m := pair(t)
		s := m.Snapshot()
		r := stage.New(t).Actor("reader", func() { s.Get("x") }).To(hooks.GetWalked)
		s.Close()
		m.Delete("x")
		prune(m)
		if reused {
			tx := m.Begin(nil)
			defer tx.Rollback()
		}
		_, ok := r.Step(0)
		require.False(t, ok)
		require.Equal(t, any(ErrTxDone), r.Result)
	}
}
