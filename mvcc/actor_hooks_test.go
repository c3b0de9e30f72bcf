//go:build mvcccheck

package mvcc

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/goid"
	"github.com/mvccmap/mvccmap/internal/hooks"
)

// A stage runs actors: goroutines that stop at the yield points of the protocol
// when the test wants them to. At most one stage is up at a time.
type stage struct {
	t      testing.TB
	mu     sync.Mutex
	actors map[goid.ID]*actor // by goroutine
	busy   atomic.Int32       // how many actors there are, for the others' sake
}

// An actor is a goroutine that goes from point to point.
type actor struct {
	stage  *stage
	name   string
	wanted atomic.Uint64    // the points to stop at, one bit each
	at     chan hooks.Point // it has stopped
	resume chan struct{}    // it may go on
	done   chan struct{}    // it has ended
	result any              // what its function panicked with
	held   bool             // it stands at a point; the test's goroutine only
}

// newStage installs the hook until the test ends. Actors that still stand
// somewhere are let go then.
func newStage(t testing.TB) *stage {
	t.Helper()
	s := &stage{t: t, actors: map[goid.ID]*actor{}}
	remove := hooks.Set(s.point)
	t.Cleanup(func() {
		remove()
		s.mu.Lock()
		left := make([]*actor, 0, len(s.actors))
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

func (s *stage) point(p hooks.Point) {
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

// actor makes an actor that will run f. It does not move yet.
func (s *stage) actor(name string, f func()) *actor {
	a := &actor{
		stage: s, name: name, held: true,
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
			a.result = recover()
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

// step lets the actor go on to the next of the wanted points. It returns false
// if the actor ended instead.
func (a *actor) step(wanted uint64) (hooks.Point, bool) {
	a.stage.t.Helper()
	a.wanted.Store(wanted)
	select {
	case <-a.done:
		return 0, false
	default:
	}
	a.resume <- struct{}{}
	a.held = false
	select {
	case p := <-a.at:
		a.held = true
		return p, true
	case <-a.done:
		return 0, false
	case <-time.After(patience):
		dump(a.stage.t, a.name+" moves no more")
		panic("unreachable")
	}
}

// to lets the actor go on until it stands at p.
func (a *actor) to(p hooks.Point) *actor {
	a.stage.t.Helper()
	_, ok := a.step(1 << p)
	require.True(a.stage.t, ok, "%s ended without passing %v (%v)", a.name, p, a.result)
	return a
}

// finish lets the actor go on to its end.
func (a *actor) finish() {
	a.stage.t.Helper()
	_, ok := a.step(0)
	require.False(a.stage.t, ok)
	require.Nil(a.stage.t, a.result, "%s panicked", a.name)
}
