//go:build mvcccheck

package mvcc

import (
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// A scheduler runs actors one at a time, and asks before each access to shared
// memory which one goes on. Actors are coroutines: nothing depends on the scheduler
// of the runtime. It is the [hooks.Scheduler] of the package's tests.
type scheduler struct {
	actors  []*player
	current *player
	objects map[unsafe.Pointer]int // by address, in the order in which they are announced
	indexed map[any]int            // the same for keys of the index
	failed  bool                   // the access of this step was a write that changed nothing
	clock   int                    // real time: it moves on when operations start and end
	sites   bool                   // note where accesses are made
	moves   *index.Tables
	// patience is how often an actor may give up waiting for another; then it
	// is stuck. Otherwise two could undo each other's work for ever.
	patience int
}

// A player is one actor of a scheduler.
type player struct {
	next    func() (event, bool)
	yield   func(event) bool
	pending event // its next step
	done    bool
	stuck   bool // it has given up waiting too often
	gaveUp  int
	free    bool // it is no longer stopped
	idle    []any
	panic   any
}

// add makes an actor that will run f, and runs it up to its first access.
func (s *scheduler) add(f func(p *player), idle ...any) {
	p := &player{idle: idle}
	p.next, _ = iter.Pull(func(yield func(event) bool) {
		debug.SetPanicOnFault(true) // the mark of our own goroutines, see Owns
		p.yield = yield
		defer func() { p.panic = recover() }()
		f(p)
	})
	s.actors = append(s.actors, p)
	s.current = p
	s.advance(p)
}

// advance lets p run to its next access, or its end.
func (s *scheduler) advance(p *player) {
	e, more := p.next()
	e.actor = slices.Index(s.actors, p)
	p.pending, p.done = e, !more
}

// step lets actor i make its pending step, and returns that.
func (s *scheduler) step(i int) event {
	p := s.actors[i]
	e := p.pending
	s.current, s.failed = p, false
	s.advance(p)
	if s.failed && e.kind == hooks.Write {
		e.kind = hooks.Read
	}
	return e
}

// drain lets every actor run to its end, one after the other.
func (s *scheduler) drain() {
	for i, p := range s.actors {
		p.free = true
		for !p.done {
			s.step(i)
		}
	}
}

// stop stops the current actor before an access.
func (s *scheduler) stop(kind hooks.Access, object int) {
	s.stopAt(event{kind: kind, object: object})
}

func (s *scheduler) stopAt(e event) {
	p := s.current
	if p.free {
		return
	}
	if s.sites {
		e.site = site()
	}
	p.yield(e)
}

// site says where in the engine the caller is.
func site() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	var names []string
	for {
		f, more := frames.Next()
		if !strings.Contains(f.File, "/hooks/") && !strings.HasSuffix(f.File, "_test.go") &&
			len(names) < 3 {
			_, name, _ := strings.Cut(filepath.Base(f.Function), ".")
			name = name[strings.LastIndexByte(name, '.')+1:]
			names = append(names, fmt.Sprintf("%s (%s:%d)", name, filepath.Base(f.File), f.Line))
		}
		if !more {
			return strings.Join(names, " < ")
		}
	}
}

// Owns implements [hooks.Scheduler]. The runtime keeps one bit for every
// goroutine that anybody may set and read; it costs a hundredth of asking for
// the number of the goroutine.
func (s *scheduler) Owns() bool {
	if debug.SetPanicOnFault(true) {
		return true
	}
	debug.SetPanicOnFault(false)
	return false
}

// Before implements [hooks.Scheduler].
func (s *scheduler) Before(kind hooks.Access, object unsafe.Pointer) {
	if !s.Owns() {
		return
	}
	n, ok := s.objects[object]
	if !ok {
		n = len(s.objects) // the map keeps the object: its address stays its own
		s.objects[object] = n
	}
	s.stopAt(event{kind: kind, object: n, cell: s.moves != nil && s.moves.Has(object)})
}

// Failed implements [hooks.Scheduler].
func (s *scheduler) Failed() {
	if s.Owns() {
		s.failed = true
	}
}

// Index implements [hooks.Scheduler].
func (s *scheduler) Index(kind hooks.Access, key any) {
	n := noObject
	if key != nil {
		var ok bool
		if n, ok = s.indexed[key]; !ok {
			n = -1 - len(s.indexed)
			s.indexed[key] = n
		}
	}
	s.stop(kind, n)
}

// GaveUp implements [hooks.Scheduler].
func (s *scheduler) GaveUp() {
	if !s.Owns() {
		return
	}
	p := s.current
	if p.gaveUp++; p.gaveUp > s.patience && !p.free {
		p.stuck = true
		p.yield(event{})
	}
}

// TakeIdle implements [hooks.Scheduler].
func (s *scheduler) TakeIdle() any {
	p := s.current
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	x := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return x
}

// GiveIdle implements [hooks.Scheduler].
func (s *scheduler) GiveIdle(x any) { s.current.idle = append(s.current.idle, x) }

// An execution is one run of a scenario's programs on a fresh map.
type execution struct {
	scenario *scenario
	*scheduler
	w       *world
	ops     []*operation
	events  []event
	initial state
	end     *operation // reads all keys in the end
	wrong   error      // found by looking at the map
}

// execute runs the programs of sc once, and notes where accesses are made if sites are asked for.
// Before each step choose is asked for one of those that are ready; if that is none of them, the
// rest runs unscheduled.
func execute(
	sc *scenario, sites bool, choose func(x *execution, ready []int) int,
) (x *execution) {
	s := &scheduler{objects: map[unsafe.Pointer]int{}, indexed: map[any]int{}, sites: sites,
		patience: sc.patience}
	x = &execution{scenario: sc, scheduler: s}
	x.w, x.initial = sc.newWorld()
	defer func() {
		if !x.panicked() {
			x.w.close()
		}
	}()

	states := make([][]any, len(sc.programs))
	for i := range states {
		states[i] = x.w.newStates()
	}
	defer hooks.Schedule(s)()
	if sc.moves {
		s.moves = index.TablesOf(x.w.maps[0].index)
		s.moves.Look()
		defer hooks.Set(s.atMove)()
	}
	for i, program := range sc.programs {
		ops := make([]*operation, len(program))
		for j, o := range program {
			ops[j] = o.fresh()
			ops[j].then, ops[j].since = x.initial, x.w.of[0].Epoch()
		}
		x.ops = append(x.ops, ops...)
		s.add(func(*player) { x.perform(ops) }, states[i]...)
	}
	ready := make([]int, 0, len(s.actors))
	for {
		ready = ready[:0]
		for i, p := range s.actors {
			if !p.done && !p.stuck {
				ready = append(ready, i)
			}
		}
		if len(ready) == 0 {
			s.drain()
			break
		}
		if len(x.events) == maxSteps {
			x.wrong = fmt.Errorf("no end after %d steps: one waits for another that does not move", maxSteps)
			return x // without the rest: it may never end
		}
		i := choose(x, ready)
		if !slices.Contains(ready, i) {
			s.drain()
			return x
		}
		x.events = append(x.events, s.step(i))
	}
	if !x.panicked() {
		x.inspect()
	}
	return x
}

// panicked reports whether an actor has panicked. It may have held a mutex: the
// map must be left alone then.
func (x *execution) panicked() bool {
	return slices.ContainsFunc(x.actors, func(p *player) bool { return p.panic != nil })
}

// maxSteps is more than any execution has whose actors wait for nobody.
const maxSteps = 5000

// perform runs a program.
func (x *execution) perform(ops []*operation) {
	for _, o := range ops {
		switch o.kind {
		case opGrow, opShrink:
			x.stop(move, noObject)
			fallthrough
		case opPrune, opRefresh:
			o.run(x.w)
			continue
		}
		x.stop(startOp, noObject)
		x.clock++
		o.started = x.clock
		o.run(x.w)
		x.stop(endOp, noObject)
		x.clock++
		o.ended = x.clock
	}
}

// schedule returns the schedule of the execution in writing: a5b2 are five steps
// of the first actor and two of the second.
func (x *execution) schedule() string {
	var b strings.Builder
	for i := 0; i < len(x.events); {
		j := i
		for j < len(x.events) && x.events[j].actor == x.events[i].actor {
			j++
		}
		fmt.Fprintf(&b, "%c%d", 'a'+x.events[i].actor, j-i)
		i = j
	}
	return b.String()
}

// follow returns a chooser that follows a schedule in writing, and then lets
// everybody run to the end in turn.
func follow(schedule string) (func(ready []int) int, error) {
	var order []int
	for rest := schedule; rest != ""; {
		who := int(rest[0]) - 'a'
		n := 0
		end := 1
		for ; end < len(rest) && rest[end] >= '0' && rest[end] <= '9'; end++ {
			n = 10*n + int(rest[end]-'0')
		}
		if who < 0 || who > 25 || end == 1 || n > 1e6 {
			return nil, fmt.Errorf("schedule %q: bad at %q", schedule, rest)
		}
		order = append(order, slices.Repeat([]int{who}, n)...)
		rest = rest[end:]
	}
	return func(ready []int) int {
		for len(order) > 0 {
			who := order[0]
			order = order[1:]
			if slices.Contains(ready, who) {
				return who
			}
		}
		return ready[0]
	}, nil
}

// oneProcessor has everything run on one processor while the test lasts: actors
// take turns, and to hand over to another processor costs more than a step.
func oneProcessor(t testing.TB) {
	n := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(n) })
}
