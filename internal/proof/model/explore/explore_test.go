package explore_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/proof/model/explore"
)

// counter is the textbook race: each process loads a counter, then stores the
// loaded value plus one, or, if atomic, does both in one move.
type counter struct {
	procs  int
	atomic bool
	lock   bool // take a lock that is never released
}

type counterState struct {
	value  uint8
	locked bool
	pc     [4]uint8
	reg    [4]uint8
}

func (c counter) Initial() counterState                { return counterState{} }
func (c counter) Processes() int                       { return c.procs }
func (c counter) Finished(s *counterState, p int) bool { return s.pc[p] == 2 }
func (c counter) Invariant(*counterState) error        { return nil }
func (c counter) Name(p int) string                    { return fmt.Sprint("P", p+1) }
func (c counter) Explain(_, after *counterState) string {
	return fmt.Sprintf("value=%d", after.value)
}
func (c counter) Final(s *counterState) error {
	if int(s.value) != c.procs {
		return errors.New("lost update")
	}
	return nil
}

func (c counter) Moves(s *counterState, p int, yield func(string, *counterState)) {
	n := *s
	switch {
	case c.lock && n.pc[p] == 0:
		if !n.locked {
			n.locked = true
			n.pc[p] = 1
		}
		yield("lock", &n)
	case c.lock:
		n.locked = false
		n.value++
		n.pc[p] = 2
		yield("unlock", &n)
	case c.atomic:
		n.value++
		n.pc[p] = 2
		yield("add", &n)
	case n.pc[p] == 0:
		n.reg[p] = n.value
		n.pc[p] = 1
		yield("load", &n)
	default:
		n.value = n.reg[p] + 1
		n.reg[p] = 0
		n.pc[p] = 2
		yield("store", &n)
	}
}

func TestAtomicCounter(t *testing.T) {
	r := explore.Run[counterState](counter{procs: 3, atomic: true}, explore.Options{Solo: 1})
	require.Nil(t, r.Violation)
	require.Equal(t, 8, r.States) // which of three processes have moved
	require.Equal(t, 12, r.Moves)
	require.Equal(t, 1, r.Finals)
}

func TestLostUpdateIsFound(t *testing.T) {
	for _, shortest := range []bool{false, true} {
		r := explore.Run[counterState](counter{procs: 2}, explore.Options{Shortest: shortest})
		require.NotNil(t, r.Violation)
		require.ErrorContains(t, r.Violation.Err, "lost update")
		require.Len(t, r.Violation.Steps, 4)
		require.Equal(t, "load", r.Violation.Steps[1].Action, "both load before either stores")
		require.Contains(t, r.Violation.String(), "P2")
	}
}

func TestWaitingIsFound(t *testing.T) {
	r := explore.Run[counterState](counter{procs: 2, lock: true}, explore.Options{})
	require.Nil(t, r.Violation, "the lock is safe")
	r = explore.Run[counterState](counter{procs: 2, lock: true}, explore.Options{Solo: 10})
	require.ErrorContains(t, r.Violation.Err, "waits for somebody")
}
