// Package explore is a small explicit-state model checker.
//
// A [Model] is a set of processes over one comparable state. One move of one process
// stands for one atomic access to shared memory together with all the local work that
// follows it, so exploring every interleaving of moves explores every sequentially
// consistent execution of the modelled code (the promise of sync/atomic). [Run] visits
// each reachable state once, checks an invariant in each, a verdict in those where
// every process has finished, and, on request, that no process ever waits for another.
// A violation comes back as the schedule that leads to it.
//
// States are kept exactly, not as fingerprints: a run that ends without a
// violation is a proof for the modelled bound.
package explore

import (
	"fmt"
	"strings"
)

// Model describes processes that share a state of type S. The methods must be
// deterministic: a counter-example is rebuilt by making the same moves again.
type Model[S comparable] interface {
	// Initial returns the state before the first move.
	Initial() S
	// Processes returns the number of processes.
	Processes() int
	// Finished reports whether process p has nothing left to do in s.
	Finished(s *S, p int) bool
	// Moves calls yield once for every choice that process p, which is not
	// finished, has in s. The successor is copied before yield returns.
	Moves(s *S, p int, yield func(action string, next *S))
	// Invariant is checked in every state.
	Invariant(s *S) error
	// Final is checked in every state where all processes have finished.
	Final(s *S) error
	// Name names process p in a counter-example.
	Name(p int) string
	// Explain describes the change of a move in words.
	Explain(before, after *S) string
}

// Options direct a search. The zero value is a depth-first search.
type Options struct {
	// Shortest searches breadth first, so that a counter-example has the
	// fewest possible moves; it usually visits more states before finding one.
	Shortest bool
	// Solo, if positive, is the number of moves within which every process must
	// finish if it runs alone from any reachable state, whatever it chooses.
	// That shows that no step waits for another process.
	Solo int

	_ struct{}
}

// Result is the outcome of a search.
type Result struct {
	States    int        // distinct states visited: all, unless there is a violation
	Moves     int        // moves made
	Finals    int        // states in which every process had finished
	Violation *Violation // nil if none was found
}

// String returns a one-line summary.
func (r Result) String() string {
	verdict := "ok"
	if r.Violation != nil {
		verdict = fmt.Sprintf("VIOLATION after %d moves: %v", len(r.Violation.Steps), r.Violation.Err)
	}
	return fmt.Sprintf("%d states, %d moves, %d final: %s", r.States, r.Moves, r.Finals, verdict)
}

// Violation is a broken property and the schedule that breaks it.
type Violation struct {
	Err   error
	Steps []Step
}

// Step is one move of a schedule.
type Step struct {
	Process string // that moved
	Action  string // which step of the protocol
	Effect  string // its change
}

// String prints the schedule, one numbered move per line.
func (v *Violation) String() string {
	var b strings.Builder
	who, what := 0, 0
	for _, s := range v.Steps {
		who, what = max(who, len(s.Process)), max(what, len(s.Action))
	}
	for i, s := range v.Steps {
		line := fmt.Sprintf("%3d  %-*s  %-*s  %s", i+1, who, s.Process, what, s.Action, s.Effect)
		b.WriteString(strings.TrimRight(line, " "))
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "=> %v\n", v.Err)
	return b.String()
}

// Run explores every reachable state of m, and returns at the first violation.
func Run[S comparable](m Model[S], o Options) Result {
	s := &search[S]{m: m, o: o}
	init := m.Initial()
	root, _ := s.seen.add(&init)
	s.arrive(root, root)
	for id, ok := s.pop(); ok && s.res.Violation == nil; id, ok = s.pop() {
		s.expand(id)
	}
	s.res.States = s.seen.len()
	return s.res
}

// search is the state of one run.
type search[S comparable] struct {
	m       Model[S]
	o       Options
	seen    table[S]
	parents []uint32 // parents[id] is the state from which id was first reached
	stack   []uint32 // depth first: states to expand
	cursor  uint32   // breadth first: the next state to expand
	res     Result
}

// arrive records a state that is new and checks it.
func (s *search[S]) arrive(id, parent uint32) {
	s.parents = append(s.parents, parent)
	if !s.o.Shortest {
		s.stack = append(s.stack, id)
	}
	if err := s.m.Invariant(s.seen.placeOf(id)); err != nil {
		s.fail(id, err)
	}
}

// pop returns the next state to expand.
func (s *search[S]) pop() (uint32, bool) {
	if s.o.Shortest {
		if int(s.cursor) == s.seen.len() {
			return 0, false
		}
		s.cursor++
		return s.cursor - 1, true
	}
	if len(s.stack) == 0 {
		return 0, false
	}
	id := s.stack[len(s.stack)-1]
	s.stack = s.stack[:len(s.stack)-1]
	return id, true
}

// expand makes every move that is possible in state id.
func (s *search[S]) expand(id uint32) {
	state, final := *s.seen.placeOf(id), true
	for p := range s.m.Processes() {
		if s.m.Finished(&state, p) {
			continue
		}
		final = false
		stuck := true
		s.m.Moves(&state, p, func(_ string, next *S) {
			stuck = false
			s.res.Moves++
			if s.res.Violation != nil {
				return
			}
			if n, fresh := s.seen.add(next); fresh {
				s.arrive(n, id)
			}
		})
		if stuck && s.res.Violation == nil {
			s.fail(id, fmt.Errorf("%s can neither move nor has it finished", s.m.Name(p)))
		}
		if s.o.Solo > 0 && s.res.Violation == nil && !s.alone(&state, p, s.o.Solo) {
			s.fail(id, fmt.Errorf("%s does not finish when it runs alone from here: it waits for somebody",
				s.m.Name(p)))
		}
	}
	if !final || s.res.Violation != nil {
		return
	}
	s.res.Finals++
	if err := s.m.Final(&state); err != nil {
		s.fail(id, err)
	}
}

// alone reports whether p finishes within n moves on every path on which only
// p moves.
func (s *search[S]) alone(state *S, p, n int) bool {
	if s.m.Finished(state, p) {
		return true
	}
	if n == 0 {
		return false
	}
	ok := true
	s.m.Moves(state, p, func(_ string, next *S) {
		if ok {
			succ := *next
			ok = s.alone(&succ, p, n-1)
		}
	})
	return ok
}

// fail ends the search with the schedule that leads to state id.
func (s *search[S]) fail(id uint32, err error) {
	if s.res.Violation != nil {
		return
	}
	path := []uint32{id}
	for id != 0 {
		id = s.parents[id]
		path = append(path, id)
	}
	v := &Violation{Err: err}
	s.res.Violation = v
	for i := len(path) - 1; i > 0; i-- {
		p, action := s.edge(path[i], path[i-1])
		effect := s.m.Explain(s.seen.placeOf(path[i]), s.seen.placeOf(path[i-1]))
		v.Steps = append(v.Steps, Step{s.m.Name(p), action, effect})
	}
}

// edge finds a move from state a to state b: the process, and the name of the move.
func (s *search[S]) edge(a, b uint32) (proc int, action string) {
	from, to := *s.seen.placeOf(a), *s.seen.placeOf(b)
	for p := range s.m.Processes() {
		if s.m.Finished(&from, p) {
			continue
		}
		found := false
		s.m.Moves(&from, p, func(what string, next *S) {
			if !found && *next == to {
				action, found = what, true
			}
		})
		if found {
			return p, action
		}
	}
	panic("explore: a move cannot be repeated: the model is not deterministic")
}
