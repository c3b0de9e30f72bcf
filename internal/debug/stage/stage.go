//go:build mvcccheck

package stage

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/goid"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// A Stage runs actors: goroutines that stop at the yield points of the protocol
// when the test wants them to. At most one stage is up at a time.
type Stage struct {
	T      testing.TB // the test that has made it
	mu     sync.Mutex
	actors map[goid.ID]*Actor // by goroutine
	busy   atomic.Int32       // how many actors there are, for the others' sake
}

// An Actor is a goroutine that goes from point to point.
type Actor struct {
	Stage  *Stage // on which it is
	name   string
	wanted atomic.Uint64    // the points to stop at, one bit each
	at     chan hooks.Point // it has stopped
	resume chan struct{}    // it may go on
	done   chan struct{}    // it has ended
	Result any              // the panic of its function
	Held   bool             // it stands at a point; the test's goroutine only
}

// New installs the hook until the test ends. Actors that still stand
// somewhere are let go then.
func New(t testing.TB) *Stage {
	t.Helper()
	s := &Stage{T: t, actors: map[goid.ID]*Actor{}}
	remove := hooks.Set(s.point)
	t.Cleanup(func() {
		remove()
		s.mu.Lock()
		left := make([]*Actor, 0, len(s.actors))
		for _, a := range s.actors {
			left = append(left, a)
		}
		s.mu.Unlock()
		for _, a := range left {
			a.wanted.Store(0)
			select {
			case a.resume <- struct{}{}:
			case <-a.done:
			}
			<-a.done
		}
	})
	return s
}

func (s *Stage) point(p hooks.Point) {
	if s.busy.Load() == 0 {
		return
	}
	id := goid.Get()
	s.mu.Lock()
	a := s.actors[id]
	s.mu.Unlock()
	if a == nil {
		return
	}
	if a.wanted.Load()>>p&1 == 0 {
		return
	}
	a.at <- p
	<-a.resume
}

// Actor makes an actor that will run f. It does not move yet.
func (s *Stage) Actor(name string, f func()) *Actor {
	a := &Actor{
		Stage: s, name: name, Held: true,
		at: make(chan hooks.Point), resume: make(chan struct{}), done: make(chan struct{}),
	}
	started := make(chan struct{})
	s.busy.Add(1)
	go func() {
		id := goid.Get()
		s.mu.Lock()
		s.actors[id] = a
		s.mu.Unlock()
		close(started)
		defer close(a.done)
		defer func() {
			a.Result = recover()
			s.mu.Lock()
			delete(s.actors, id)
			s.mu.Unlock()
			s.busy.Add(-1)
		}()
		<-a.resume
		f()
	}()
	<-started
	return a
}

// Step lets the actor go on to the next of the wanted points. It returns false
// if the actor ended instead.
func (a *Actor) Step(wanted uint64) (hooks.Point, bool) {
	a.Stage.T.Helper()
	a.wanted.Store(wanted)
	select {
	case <-a.done:
		return 0, false
	default:
	}
	a.resume <- struct{}{}
	a.Held = false
	select {
	case p := <-a.at:
		a.Held = true
		return p, true
	case <-a.done:
		return 0, false
	case <-time.After(Patience):
		failWithStacks(a.Stage.T, a.name+" moves no more")
		panic("unreachable")
	}
}

// To lets the actor go on until it stands at p.
func (a *Actor) To(p hooks.Point) *Actor {
	a.Stage.T.Helper()
	_, ok := a.Step(1 << p)
	require.True(a.Stage.T, ok, "%s ended without passing %v (%v)", a.name, p, a.Result)
	return a
}

// Finish lets the actor go on to its end.
func (a *Actor) Finish() {
	a.Stage.T.Helper()
	_, ok := a.Step(0)
	require.False(a.Stage.T, ok)
	require.Nil(a.Stage.T, a.Result, "%s panicked", a.name)
}

// RequireViolation checks that f breaks an invariant, and that the panic says so in these words.
func RequireViolation(t testing.TB, words string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		err, _ := recover().(error)
		require.ErrorContains(t, err, words)
	}()
	f()
}
