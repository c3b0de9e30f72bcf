//go:build mvccinvariants

package mvcc

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// Each invariant is seen to fire: the test breaks the state by hand.

// requireViolation checks that f violates an invariant, and that the message says
// so in these words.
func requireViolation(t *testing.T, words string, f func()) {
	t.Helper()
	v, ok := panicOf(f).(*invariant.Violation)
	require.True(t, ok, "no violation")
	require.ErrorContains(t, v, words)
}

func TestInvariantOfSteps(t *testing.T) {
	var active, aborted = specialWord(kindActive), specialWord(kindAborted)
	announced := announcedWord(0, 5, 0)
	validating := announcedWord(0, 5, checkBit)
	tentative := decidedWord(validating, 7)
	committed9 := committedWord(0, 9)
	legal := map[[2]uint64]bool{
		{active, active + installStep}:                             true,
		{active, announcedWord(0, 0, 0)}:                           true,
		{active, announcedWord(0, 0, checkBit)}:                    true,
		{active, aborted}:                                          true,
		{announced, committedWord(0, 6)}:                           true,
		{announced, aborted}:                                       true,
		{validating, tentative}:                                    true,
		{validating, aborted}:                                      true,
		{tentative, committedWord(0, 7)}:                           true,
		{tentative, tentative ^ checkBit}:                          true,
		{tentative, announcedWord(0, 7, checkBit)}:                 true,
		{tentative, aborted}:                                       true,
		{specialWord(kindIndirect), committed9}:                    true,
		{announced | tombBit, committedWord(tombBit, 6)}:           true,
		{announced | tombBit, committedWord(0, 6)}:                 false,
		{announced, committedWord(0, 5)}:                           false, // a stale draw
		{announced, tentative}:                                     false,
		{validating, committed9}:                                   false, // not validated
		{tentative, committed9}:                                    false,
		{tentative, announcedWord(0, 0, checkBit)}:                 false, // no floor
		{tentative, announcedWord(0, 7, 0)}:                        false, // no check
		{active, announcedWord(0, 3, 0)}:                           false,
		{active, committed9}:                                       false,
		{committed9, committedWord(0, 10)}:                         false,
		{committed9, aborted}:                                      false,
		{aborted, active}:                                          false,
		{aborted, committed9}:                                      false,
		{specialWord(kindDead), committed9}:                        false,
		{specialWord(kindIndirect), announced}:                     false,
		{announced, announcedWord(1<<countShift, 5, 0)}:            false,
		{tentative, decidedWord(announcedWord(0, 8, checkBit), 9)}: false,
	}
	for step, ok := range legal {
		if p := panicOf(func() { checkStep(step[0], step[1]) }); ok {
			require.Nil(t, p, "%v -> %v", word(step[0]), word(step[1]))
		} else {
			require.NotNil(t, p, "%v -> %v", word(step[0]), word(step[1]))
		}
	}
	require.Equal(t, "tentative(7)+check+tombstone+count=3", word(tentative|checkBit|tombBit|3<<countShift).String())
	require.Equal(t, "active(1)", word(active+installStep).String())
	require.Equal(t, "committed(9)", word(committed9).String())
	require.Equal(t, "announced(5)", word(announced).String())
}

// breakable returns a map whose keys the background work leaves alone when it is
// closed.
func breakable(t *testing.T) *Map[string, int] {
	t.Helper()
	m := newMap[string, int](t, still())
	t.Cleanup(func() {
		for _, e := range entries(m) {
			e.head.Store(m.dead)
		}
	})
	return m
}

// two returns a map with a key of two versions, and these.
func two(t *testing.T) (m *Map[string, int], e *entry[string, int], newer, older *version[int]) {
	t.Helper()
	m = breakable(t)
	m.Store("k", 1)
	m.Store("k", 2)
	e = m.lookup("k")
	newer = e.head.Load()
	return m, e, newer, newer.next.Load()
}

func TestInvariantOfChains(t *testing.T) {
	m, e, newer, older := two(t)
	m.checkLink("k", newer)
	newest := newer.state.Load()
	older.state.Store(newest)
	requireViolation(t, "I5", func() { m.checkLink("k", newer) })
	older.state.Store(committedWord(0, 1000))
	requireViolation(t, "I5", func() { m.checkLink("k", newer) })
	older.state.Store(announcedWord(0, 0, 0))
	requireViolation(t, "I5", func() { m.checkLink("k", newer) })
	requireViolation(t, "I5", func() { m.checkPush(e, older, older, &version[int]{}) })

	m, e, newer, _ = two(t)
	private := func() *version[int] {
		v := &version[int]{}
		v.state.Store(announcedWord(0, 0, 0))
		return v
	}
	m.checkPush(e, newer, newer, private())
	requireViolation(t, "I5", func() { m.checkPush(e, newer, nil, private()) })
	requireViolation(t, "I5", func() { m.checkPush(e, nil, newer, private()) })
	requireViolation(t, "I5", func() { m.checkPush(e, m.dead, nil, private()) })
	requireViolation(t, "I5", func() { m.checkPush(e, newer, newer, newer) })

	v := private()
	requireViolation(t, "has been committed", func() { m.checkNewest(e, v) })
	v.state.Store(committedWord(0, 1000))
	requireViolation(t, "clock stands at", func() { m.checkNewest(e, v) })

	v.state.Store(specialWord(kindIndirect))
	requireViolation(t, "lost its record", func() { v.resolve() })
	requireViolation(t, "lost its record", func() { v.peekState() })
	v.rec.Store(&newer.state)
	v.checkCopy(epochOf(newer.state.Load()))
	requireViolation(t, "copied", func() { v.checkCopy(1000) })
}

// viewOf returns a view of read-only transactions, made by hand.
func viewAt(bound uint64, live ...uint64) *gc.View {
	return &gc.View{View: epoch.ViewOf(bound, bound, live, nil)}
}

func TestInvariantOfPruning(t *testing.T) {
	m, e, newer, older := two(t)
	at := epochOf(older.state.Load())
	bound := epochOf(newer.state.Load())
	requireViolation(t, "is dropped", func() {
		m.checkCut(e, newer, older, nil, viewAt(bound, at))
	})
	requireViolation(t, "is dropped", func() { m.checkCut(e, newer, older, nil, viewAt(at)) })

	// A pruner whose view does not know of a reader.
	tx := m.Begin(nil) // one that may write
	defer tx.Rollback()
	s := m.Snapshot()
	defer s.Close()
	m.Store("k", 3)
	requireViolation(t, "I1", func() {
		m.prune(e, viewAt(m.slots.Now()), math.MaxInt, nil)
		s.Get("k")
	})
	requireViolation(t, "I1", func() {
		for range s.All() {
		}
	})

	requireViolation(t, "declared dead", func() { m.checkBury(e, newer) })
	m.Delete("l")
	m.Store("l", 1)
	m.Delete("l")
	l := m.lookup("l")
	l.head.Load().next.Store(nil)
	requireViolation(t, "leaves the index", func() { m.checkBury(l, l.head.Load()) })
	requireViolation(t, "alive", func() { m.unlink(l) })
}

// What was dropped from below a version counts as dropped from below the one that
// takes its place: here the tombstone that made the key absent.
func TestDroppedInTwoSteps(t *testing.T) {
	m := newMap[string, int](t, still())
	m.Store("k", 1)
	first := m.slots.Now()
	m.Delete("k")
	tombstone := m.slots.Now()
	for range 2 {
		m.Store("k", 2)
		m.prune(m.lookup("k"), viewAt(m.slots.Now(), first), math.MaxInt, nil)
	}
	e := m.lookup("k")
	require.Equal(t, tombstone, e.head.Load().lost.Load())
	require.Equal(t, first, commitEpoch(e.head.Load().next.Load()))
	st := m.newState()
	st.checkAbsent("k", tombstone+1)
}

func TestInvariantOfReads(t *testing.T) {
	m, e, newer, older := two(t)
	s := m.Snapshot()
	defer s.Close()
	s.st.checkRead(s.gen, e, newer)
	requireViolation(t, "read twice", func() { s.st.checkRead(s.gen, e, older) })
	requireViolation(t, "read twice nothing", func() { s.st.checkRead(s.gen, &entry[string, int]{key: "k"}, newer) })
	requireViolation(t, "the entry of key", func() { e.check("l") })

	// A slot-less load that falls through.
	abort(t, m, "k")
	top := e.head.Load()
	top.next.Store(older)
	m.checkedNewest(e)
	fallen := &entry[string, int]{key: "k"}
	pending := &version[int]{}
	pending.state.Store(specialWord(kindActive))
	pending.next.Store(newer)
	fallen.head.Store(pending)
	require.Same(t, newer, m.checkedNewest(fallen))
}

func TestInvariantOfCommits(t *testing.T) {
	begin := func(level *TxOptions) (*Map[string, int], Tx[string, int]) {
		m, _, _, _ := two(t)
		m.Store("l", 1)
		return m, m.Begin(level)
	}
	// publish is what a commit does that validates nothing.
	publish := func(m *Map[string, int], tx Tx[string, int]) func() {
		return func() {
			e := m.slots.Next()
			for i := range tx.st.writes {
				w := &tx.st.writes[i]
				w.e = m.makeEntry(w.key)
				h := w.e.head.Load()
				if h != nil {
					w.v.next.Store(h)
				}
				w.v.state.Store(committedWord(w.v.state.Load(), e))
				w.e.head.Store(w.v)
			}
			tx.st.checkCommit(tx.gen, e)
		}
	}
	m, tx := begin(serializable)
	tx.Get("k")
	tx.Set("x", 1)
	publish(m, tx)()
	m, tx = begin(serializable)
	tx.Get("k")
	tx.Set("x", 1)
	m.Store("k", 3)
	requireViolation(t, "came between", publish(m, tx))
	m, tx = begin(serializable)
	tx.Get("absent")
	tx.Set("x", 1)
	m.Store("absent", 3)
	requireViolation(t, "found it absent", publish(m, tx))
	m, tx = begin(serializable)
	for range tx.All() {
		break
	}
	tx.Set("x", 1)
	m.Store("new", 3)
	requireViolation(t, "came between", publish(m, tx))
	m, tx = begin(snapshot)
	tx.Get("k")
	tx.Set("k", 1)
	m.Store("k", 3)
	requireViolation(t, "lost update", publish(m, tx))

	_, tx = begin(serializable)
	requireViolation(t, "commits at", func() { tx.st.checkCommit(tx.gen, tx.st.epoch()) })
	requireViolation(t, "commits at", func() { tx.st.checkCommit(tx.gen, 1000) })
	tx.Rollback()
	requireViolation(t, "not live", func() { tx.st.checkCommit(tx.gen, 1000) })
}

func TestInvariantOfStates(t *testing.T) {
	m := breakable(t)
	tx := m.Begin(nil)
	tx.Get("k")
	requireViolation(t, "remembers", func() { tx.st.checkTaken() })
	tx.Rollback()
	requireViolation(t, "there already", func() { tx.st.checkGiven() })
	requireViolation(t, "not begun", func() { tx.st.end(tx.st.gen()) })

	m.counters.wasted.Store(100)
	requireViolation(t, "wasted", func() { m.Stats() })
	m.counters.wasted.Store(0)
}
