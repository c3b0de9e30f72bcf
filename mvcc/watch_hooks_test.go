//go:build mvcchooks

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// Priority mode: what counts as pushed, and what as a stranger's commit. In each
// test a transaction that has read x and writes y is held while it decides.

// A holder is a transaction that decides in priority mode.
type holder struct {
	*actor
	tx  Tx[string, int]
	err error
}

// hold makes an actor that reads some keys, or nothing of them if they are
// absent, and writes 1 to key, as if it had the priority.
func hold(s *stage, m *Map[string, int], key string, reads ...string) *holder {
	h := new(holder)
	h.actor = s.actor("holder", func() {
		h.tx = m.Begin(nil)
		h.tx.st.ticket = 1 << 40
		for _, k := range reads {
			h.tx.Get(k)
		}
		h.tx.Set(key, 1)
		h.err = h.tx.Commit()
	})
	return h
}

// again lets the holder go on until it has validated once more, which it must.
func (h *holder) again() *holder {
	h.to(hooks.Validated)
	return h
}

// commits lets the holder go on: it must commit without validating any more.
func (h *holder) commits(why string) {
	t := h.stage.t
	t.Helper()
	_, more := h.step(1 << hooks.Validated)
	require.False(t, more, "validates again: %s", why)
	require.Nil(t, h.result)
	require.NoError(t, h.err)
}

// tentative requires that the record of the holder has an epoch that is not
// validated.
func (h *holder) tentative() uint64 {
	t := h.stage.t
	t.Helper()
	w := h.tx.st.word.Load()
	require.EqualValues(t, tagTentative, tag(w), "word %#x", w)
	return epochOf(w)
}

// push lets a reader of key take the epoch of its writer away and draw another.
func push(t testing.TB, m *Map[string, int], key string) {
	t.Helper()
	before := m.Stats()
	requireAbsent[int](t)(m.Load(key))
	after := m.Stats()
	require.Equal(t, before.Revoked+1, after.Revoked, "nothing was revoked")
	require.Equal(t, before.Pushed+1, after.Pushed, "nothing was pushed")
}

// watchMap has 0 under every key but y and those that begin with it.
func watchMap(t *testing.T) *Map[string, int] {
	m := newMap[string, int](t, still())
	for _, k := range []string{"x", "z", "q"} {
		m.Store(k, 0)
	}
	return m
}

// Readers push a holder while it validates, and afterwards; some leave it
// without an epoch. It need not validate again.
func TestPushedHolderValidatesOnce(t *testing.T) {
	for _, during := range []bool{false, true} {
		for pushes := range 4 {
			for _, left := range []bool{false, true} {
				m := watchMap(t)
				s := newStage(t)
				blocker := s.actor("blocker", func() {
					tx := m.Begin(nil)
					tx.Set("x", 2)
					tx.Set("y2", 2)
					_ = tx.Commit()
				})
				h := hold(s, m, "y", "x")
				if during {
					h.to(hooks.CommitEntries)
					blocker.to(hooks.InstalledAll)
					h.to(hooks.WalkSkipped)
				} else {
					h.to(hooks.Validated)
				}
				first := h.tentative()
				for range pushes {
					push(t, m, "y")
				}
				var reader *actor
				if left {
					reader = s.actor("reader", func() { m.Load("y") }).to(hooks.Revoked)
				}
				if during {
					h.again()
				}
				h.commits("all epochs were drawn for it")
				if pushes > 0 || left {
					require.Greater(t, chain(m, "y")[0].Epoch, first)
				}
				if reader != nil {
					reader.finish()
				}
				blocker.finish()
				checkQuiet(t, m)
			}
		}
	}
}

// Somebody overwrites what the holder has read after it was validated there, and
// then it is pushed beyond that.
func TestStrangerAfterValidation(t *testing.T) {
	for _, store := range []bool{false, true} {
		for _, before := range []bool{false, true} { // it is pushed before, too
			m := watchMap(t)
			s := newStage(t)
			h := hold(s, m, "y", "x")
			h.to(hooks.Validated)
			if before {
				push(t, m, "y")
			}
			if store {
				m.Store("x", 2)
			} else {
				require.NoError(t, m.Update(bg, nil, func(tx Tx[string, int]) error {
					tx.Get("z")
					tx.Set("x", 2)
					tx.Set("q", 2)
					return nil
				}))
			}
			between := m.Snapshot()
			push(t, m, "y")
			h.finish()
			requireConflict(t, h.err, "x", ConflictRead)
			requireAbsent[int](t)(between.Get("y"))
			between.Close()
			checkQuiet(t, m)
		}
	}
}

// The same, but the holder is not pushed: it comes first.
func TestStrangerAboveHolder(t *testing.T) {
	m := watchMap(t)
	h := hold(newStage(t), m, "y", "x")
	h.to(hooks.Validated)
	m.Store("x", 2)
	h.commits("its epoch is from before it validated")
	require.Less(t, chain(m, "y")[0].Epoch, chain(m, "x")[0].Epoch)
	checkQuiet(t, m)
}

// A stranger that commits elsewhere may have been anywhere: the holder validates
// again, once, and commits.
func TestStrangerElsewhere(t *testing.T) {
	m := watchMap(t)
	h := hold(newStage(t), m, "y", "x")
	h.to(hooks.Validated)
	m.Store("z", 2)
	push(t, m, "y")
	h.again()
	push(t, m, "y")
	h.commits("there was no further stranger")
	checkQuiet(t, m)
}

// Epochs that helpers draw for others do not pass for the holder's.
func TestHelpForOthersIsNotCounted(t *testing.T) {
	m := watchMap(t)
	s := newStage(t)
	h := hold(s, m, "y", "x")
	h.to(hooks.Validated)
	other := s.actor("other", func() {
		tx := m.Begin(nil)
		tx.Set("x", 2)
		tx.Set("z", 2)
		_ = tx.Commit()
	}).to(hooks.Announced)
	requireValue(t, 2)(m.Load("x"))
	require.EqualValues(t, 1, m.Stats().Helped)
	push(t, m, "y")
	h.finish()
	requireConflict(t, h.err, "x", ConflictRead)
	other.finish()
	checkQuiet(t, m)
}

// A writer of x has the epoch of the moment at which the holder begins to
// validate. It must not commit there, once the holder has passed it over.
func TestHolderPushesWriterAtBase(t *testing.T) {
	m := watchMap(t)
	s := newStage(t)
	h := hold(s, m, "y", "x")
	h.to(hooks.Tentative)
	var err error
	w := s.actor("writer", func() {
		tx := m.Begin(nil)
		tx.Get("q")
		tx.Set("x", 2)
		err = tx.Commit()
	}).to(hooks.Validated)
	require.Equal(t, m.slots.Now(), epochOf(m.lookup("x").head.Load().state.Load()))
	h.to(hooks.Validated)
	push(t, m, "y")
	w.finish()
	h.finish()
	require.NoError(t, err)
	if h.err == nil {
		require.Less(t, chain(m, "y")[0].Epoch, chain(m, "x")[0].Epoch, "the holder has not read what is there at its epoch")
	}
	checkQuiet(t, m)
}

// A helper has drawn an epoch for the holder, and stands still before it counts
// it: the epoch passes for a stranger's.
func TestHelperThatHasNotCounted(t *testing.T) {
	for _, stranger := range []bool{false, true} {
		m := watchMap(t)
		s := newStage(t)
		h := hold(s, m, "y", "x")
		h.to(hooks.Validated)
		helper := s.actor("helper", func() { m.Load("y") }).to(hooks.HelpDrawn)
		if stranger {
			m.Store("x", 2)
		}
		requireAbsent[int](t)(m.Load("y"))
		h.tentative()
		if stranger {
			h.finish()
			requireConflict(t, h.err, "x", ConflictRead)
		} else {
			h.again().commits("nothing was drawn since")
		}
		helper.finish()
		checkQuiet(t, m)
	}
}

// A helper has drawn an epoch for the holder, and stands still before it counts
// it. The holder has committed, another one has the priority: the epoch is none
// of its own, and must not make up for that of a stranger.
func TestWatchOfEarlierHolder(t *testing.T) {
	for _, same := range []bool{false, true} { // it is the holder's next validation
		m := watchMap(t)
		s := newStage(t)
		h := hold(s, m, "y", "x")
		h.to(hooks.Validated)
		helper := s.actor("helper", func() { m.Load("y") }).to(hooks.HelpDrawn)
		key := "y"
		if same {
			h.again()
		} else {
			h.again().commits("nothing was drawn since")
			key = "y2"
			h = hold(s, m, key, "x")
			h.to(hooks.Validated)
		}
		helper.finish()
		m.Store("x", 2)
		push(t, m, key)
		h.finish()
		requireConflict(t, h.err, "x", ConflictRead)
		checkQuiet(t, m)
	}
}

// A helper that has loaded the record, and the watch, draws and counts while the
// holder compares the count with the clock. That must not make up for the epoch
// of a stranger.
func TestEpochDrawnWhileHolderCompares(t *testing.T) {
	m := watchMap(t)
	s := newStage(t)
	h := hold(s, m, "y", "x")
	h.to(hooks.Validated)
	helper := s.actor("helper", func() { m.Load("y") }).to(hooks.HelpLoaded)
	m.Store("x", 2)
	h.to(hooks.WatchLoaded)
	h.tentative()
	helper.finish()
	h.finish()
	requireConflict(t, h.err, "x", ConflictRead)
	checkQuiet(t, m)
}

// A key that the holder has found absent was there at its epoch, and is gone by
// the time it validates: being absent then is not enough.
func TestHolderComesBeforeTombstone(t *testing.T) {
	m := watchMap(t)
	hold0 := m.Snapshot() // the tombstone stays
	h := hold(newStage(t), m, "y", "p")
	h.to(hooks.CommitEntries)
	m.Store("p", 2)
	h.to(hooks.Tentative)
	between := m.Snapshot()
	m.Delete("p")
	h.finish()
	requireConflict(t, h.err, "p", ConflictRead)
	requireValue(t, 2)(between.Get("p"))
	requireAbsent[int](t)(between.Get("y"))
	between.Close()
	hold0.Close()
	checkQuiet(t, m)
}
