//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/stage"
)

// What readers do when they meet a writer that has not decided yet.

// The values of these tests: what a key has, what it gets, and what comes after that.
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

// A writer stands still at each step. Snapshots that were taken before and
// those taken meanwhile see it wholly or not at all, now and after it went on.
func TestReadersDecideForStandingWriter(t *testing.T) {
	putOnly := []hooks.Point{
		hooks.CommitEntries, hooks.Installed, hooks.InstalledAll, hooks.Announced, hooks.Drawn,
		hooks.Published, hooks.Finalized,
	}
	withReads := append([]hooks.Point{hooks.Tentative, hooks.Validated}, putOnly...)
	for reads, points := range map[bool][]hooks.Point{false: putOnly, true: withReads} {
		for _, p := range points {
			for _, first := range []string{"x", "y"} {
				t.Run(map[bool]string{false: "put-only", true: "reads"}[reads]+"/"+p.String()+"/"+first,
					func(t *testing.T) {
						m := pair(t)
						s := stage.New(t)
						before := m.Snapshot()
						defer before.Close()
						w := s.Actor("writer", batch(t, m, reads)).To(p)
						published := p == hooks.Published || p == hooks.Finalized
						now := oldValue
						if published {
							now = newValue
						}

						during := m.Snapshot()
						defer during.Close()
						requireValue(t, now)(during.Get(first))
						both(t, during, now)
						both(t, before, oldValue)
						after := m.Snapshot() // after the help, if there was any
						defer after.Close()
						seen, _ := after.Get("x")
						both(t, after, seen)
						if !reads && (p == hooks.Announced || p == hooks.Drawn) {
							require.Equal(t, newValue, seen, "who meets an announced put-only batch commits it")
						}
						requireValue(t, seen)(m.Load("x"))
						requireValue(t, seen)(m.Load("y"))

						w.Finish()
						both(t, before, oldValue)
						both(t, during, now)
						both(t, after, seen)
						last := m.Snapshot()
						defer last.Close()
						both(t, last, newValue)
						prune(m)
						both(t, before, oldValue)
						both(t, during, now)
						both(t, after, seen)
						both(t, last, newValue)
					})
			}
		}
	}
}

// A reader that draws again and again delays a writer, and does not stop it.
func TestWriterThatIsRevokedAgainAndAgainCommits(t *testing.T) {
	m := pair(t)
	w := stage.New(t).Actor("writer", batch(t, m, true))
	revocations := 0
	for {
		if _, ok := w.Step(1 << hooks.Validated); !ok {
			break
		}
		revocations++
		require.Less(t, revocations, 1000, "the writer is revoked for ever")
		if revocations < 20 {
			s := m.Snapshot()
			both(t, s, oldValue)
			s.Close()
		}
	}
	require.Nil(t, w.Result)
	requireValue(t, newValue)(m.Load("x"))
	require.Greater(t, revocations, 1)
	require.NotZero(t, m.Stats().Revoked)
	checkQuiet(t, m)
}

// A Load that passes over a tentative head must push it first: z was stored, and
// seen, after the writer drew its epoch; to answer "x is old" afterwards puts
// the writer behind z, so its epoch must be above z's.
func TestLoadPushesTentativeWriter(t *testing.T) {
	for _, p := range []hooks.Point{hooks.Drawn, hooks.Tentative, hooks.Validated} {
		m := pair(t)
		w := stage.New(t).Actor("writer", batch(t, m, true)).To(p)
		between := m.Snapshot()
		m.Store("z", newerValue)
		requireValue(t, newerValue)(m.Load("z"))
		x, _ := m.Load("x")
		require.Equal(t, oldValue, x)
		w.Finish()
		both(t, between, oldValue) // else it sees the writer, but not z, which came first
		requireAbsent[int](t)(between.Get("z"))
		require.Greater(t, chainOf(m, "x")[0].Epoch, chainOf(m, "z")[0].Epoch)
		between.Close()
	}
}

// A Load has found an undecided head and is about to go below it. The head
// commits, and a pruner cuts there: the key was never absent.
func TestLoadDoesNotFallThroughCommittedHead(t *testing.T) {
	for _, p := range []hooks.Point{hooks.Installed, hooks.InstalledAll} {
		m := pair(t)
		stage := stage.New(t)
		w := stage.Actor("writer", batch(t, m, false))
		w.To(p)
		if p == hooks.Installed {
			w.To(p) // both
		}
		var got int
		var ok bool
		r := stage.Actor("reader", func() { got, ok = m.Load("x") }).To(hooks.HeadSkipped)
		w.Finish()
		prune(m)
		require.Len(t, chainOf(m, "x"), 1)
		r.Finish()
		require.True(t, ok, "absent, between an old and a new value")
		require.Equal(t, newValue, got)
	}
}

// A snapshot is closed while another goroutine reads through it; its slot may
// serve somebody else by then, and what the walk found means nothing.
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

// A loop over an index visits no record that it has looked up while its snapshot was closed.
func TestSnapshotClosedDuringIndexGet(t *testing.T) {
	db := NewDB(&Options{ManualReclaim: true})
	t.Cleanup(db.Close)
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
