//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/chain"
	"github.com/mvccmap/mvccmap/internal/favour"
	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/stage"
)

// Validations with an alarm: what they may commit beside, and what not. In each test a
// transaction that has read x and writes y is held while it decides.

// An alarmed is a transaction that validates, and has an alarm.
type alarmed struct {
	*stage.Actor
	tx  Tx[string, int]
	err error
}

// validating makes an actor that reads some keys, or all if there is none, and writes 1
// to key, as if readers had taken its epoch away often enough.
func validating(s *stage.Stage, m *Map[string, int], key string, reads ...string) *alarmed {
	h := new(alarmed)
	h.Actor = s.Actor("validator", func() {
		h.tx = m.Begin(nil)
		stateOf(h.tx.st).rare().revoked = maxRevocations
		for _, k := range reads {
			h.tx.Get(k)
		}
		if len(reads) == 0 {
			for range h.tx.All() {
				continue
			}
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

// Readers push a validator while it validates, and afterwards; some leave it without an
// epoch. It need not validate again. The readers read what the validator itself has read,
// too: its own commit does not raise its alarm.
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

// Somebody overwrites what the validator has read after it was validated there, and
// then it is pushed beyond that.
func TestCommitAfterValidation(t *testing.T) {
	for name, commit := range map[string]func(m *Map[string, int]) error{
		"Store":          func(m *Map[string, int]) error { m.Store("x", 2); return nil },
		"Delete":         func(m *Map[string, int]) error { m.Delete("x"); return nil },
		"CompareAndSwap": func(m *Map[string, int]) error { CompareAndSwap(m, "x", 0, 2); return nil },
		"one write": func(m *Map[string, int]) error {
			return m.Update(bg, nil, func(tx Tx[string, int]) error {
				tx.Get("z")
				tx.Set("x", 2)
				return nil
			})
		},
		"two writes": func(m *Map[string, int]) error {
			return m.Update(bg, nil, func(tx Tx[string, int]) error {
				tx.Set("q", 2)
				tx.Set("x", 2)
				return nil
			})
		},
		"two writes, validated": func(m *Map[string, int]) error {
			return m.Update(bg, nil, func(tx Tx[string, int]) error {
				tx.Get("z")
				tx.Set("x", 2)
				tx.Set("q", 2)
				return nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, reads := range [][]string{{"x"}, {"q", "x"}, nil} {
				for _, p := range []hooks.Point{hooks.Validated, hooks.AlarmClean} {
					for _, before := range []bool{false, true} { // it is pushed before, too
						m := alarmMap(t)
						h := validating(stage.New(t), m, "y", reads...)
						h.To(p)
						if before {
							push(t, m, "y")
						}
						require.NoError(t, commit(m))
						between := m.Snapshot()
						push(t, m, "y")
						h.Finish()
						require.ErrorIs(t, h.err, ErrConflict)
						requireAbsent[int](t)(between.Get("y"))
						between.Close()
						checkQuiet(t, m)
					}
				}
			}
		})
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

// markInVain raises the alarms on x, and does not commit.
func markInVain(t testing.TB, m *Map[string, int]) {
	t.Helper()
	tx := m.Begin(nil)
	tx.Get("z")
	tx.Set("x", 2)
	tx.Set("q", 2)
	m.Store("z", 2)
	require.ErrorIs(t, tx.Commit(), ErrConflict)
}

// Readers revoke a transaction each time that it has validated, while somebody has a
// claim on the key that it writes, and does not move: it commits all the same.
func TestRevokedBesideClaim(t *testing.T) {
	m := alarmMap(t)
	h := validating(stage.New(t), m, "y", "x")
	require.False(t, coreOf(m).favour.Any())
	h.To(hooks.Announced) // past giving way
	stateOf(h.tx.st).rare().revoked = 0
	claim := coreOf(m).favour.Enter(favour.All(), 1<<40)
	validations := 0
	for {
		if _, more := h.Step(1 << hooks.Validated); !more {
			break
		}
		validations++
		require.Less(t, validations, 100, "it is revoked for ever")
		push(t, m, "y")
	}
	require.NoError(t, h.err)
	require.LessOrEqual(t, validations, maxRevocations+1)
	claim.End()
	checkQuiet(t, m)
}
