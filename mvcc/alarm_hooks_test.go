//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// Validations with an alarm: beside which commits they may commit. In each test a transaction that
// has read x and writes y is held while it decides.

// An alarmed is a transaction that validates, and has an alarm.
type alarmed struct {
	*stage.Actor
	tx  Tx[string, int]
	err error
}

// validating makes an actor that reads some keys and writes 1 to key, as if readers had taken its
// epoch away often enough.
func validating(s *stage.Stage, m *Map[string, int], key string, reads ...string) *alarmed {
	h := new(alarmed)
	h.Actor = s.Actor("validator", func() {
		h.tx = m.Begin(nil)
		stateOf(h.tx.st).rare().revoked = maxRevocations
		for _, k := range reads {
			h.tx.Get(k)
		}
		h.tx.Set(key, 1)
		h.err = h.tx.Commit()
	})
	return h
}

// again lets the validator go on until it has validated once more, which it must.
func (h *alarmed) again() *alarmed {
	h.To(hooks.Validated)
	return h
}

// commits lets the validator go on: it must commit without validating any more.
func (h *alarmed) commits(why string) {
	t := h.Stage.T
	t.Helper()
	_, more := h.Step(1 << hooks.Validated)
	require.False(t, more, "validates again: %s", why)
	require.Nil(t, h.Result)
	require.NoError(t, h.err)
}

// tentative requires that the record of the validator has an epoch that is not
// validated.
func (h *alarmed) tentative() epoch.Epoch {
	t := h.Stage.T
	t.Helper()
	w := chain.Load(stateOf(h.tx.st).record())
	require.EqualValues(t, chain.TagTentative, w.Tag(), "word %v", w)
	return w.Epoch()
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

// alarmMap has 0 under every key but y and those that begin with it.
func alarmMap(t *testing.T) *Map[string, int] {
	m := newMap[string, int](t, still())
	for _, k := range []string{"x", "z", "q"} {
		m.Store(k, 0)
	}
	return m
}

// Readers push a validator while it validates, and afterwards; some leave it without an epoch. It
// need not validate again, not even if it has read the key that it writes, too: its own commit does
// not raise its alarm.
func TestPushedAlarmedValidatesOnce(t *testing.T) {
	for _, p := range []hooks.Point{hooks.AlarmListed, hooks.HeadSkipped, hooks.Validated} {
		for pushes := range 4 {
			for _, left := range []bool{false, true} {
				for _, own := range []bool{false, true} {
					m := alarmMap(t)
					s := stage.New(t)
					reads := []string{"x"}
					if own {
						reads = []string{"y", "x"}
					}
					blocker := s.Actor("blocker", func() {
						tx := m.Begin(nil)
						tx.Set("x", 2)
						tx.Set("y2", 2)
						_ = tx.Commit()
					})
					h := validating(s, m, "y", reads...)
					if p == hooks.HeadSkipped {
						h.To(hooks.CommitEntries)
						blocker.To(hooks.InstalledAll)
					}
					h.To(p)
					first := h.tentative()
					for range pushes {
						push(t, m, "y")
					}
					var reader *stage.Actor
					if left {
						reader = s.Actor("reader", func() { m.Load("y") }).To(hooks.Revoked)
					}
					if p != hooks.Validated {
						h.again()
					}
					h.commits("nobody has committed meanwhile")
					if pushes > 0 || left {
						require.Greater(t, chainOf(m, "y")[0].Epoch, first)
					}
					if reader != nil {
						reader.Finish()
					}
					blocker.Finish()
					checkQuiet(t, m)
				}
			}
		}
	}
}

// A commit elsewhere does not raise the alarm.
func TestStrangersRaiseNoAlarm(t *testing.T) {
	m := alarmMap(t)
	h := validating(stage.New(t), m, "y", "x")
	h.To(hooks.Validated)
	for range 3 {
		m.Store("z", 2)
		mustUpdate(t, m, nil, func(tx Tx[string, int]) {
			tx.Get("x")
			tx.Set("z", 2)
			tx.Set("q", 2)
		})
		push(t, m, "y")
	}
	h.commits("only strangers have committed")
	checkQuiet(t, m)
}
