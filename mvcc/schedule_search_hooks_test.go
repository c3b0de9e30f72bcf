//go:build mvcccheck

package mvcc

import (
	"fmt"
	"math/bits"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// An event is one step of an actor: one access to shared memory, and the work of the actor by
// itself until its next one.
type event struct {
	actor  int
	kind   hooks.Access
	object int  // negative: a key of the index
	cell   bool // the object is a cell of a table that moves
	site   string
}

// Three more kinds: an operation starts, and ends; a bucket is moved, which changes cells.
const (
	startOp hooks.Access = 100 + iota
	endOp
	move
)

// noObject is the object of walks of the index, and of starts and ends.
const noObject = -1 << 30

// dependent reports whether the order of two events of different actors can make
// a difference. That one operation ended before another started does, to one that
// judges the results.
func dependent(a, b event) bool {
	switch {
	case a.kind == move:
		return b.inIndex()
	case b.kind == move:
		return a.inIndex()
	case a.kind >= startOp || b.kind >= startOp:
		return a.kind == startOp && b.kind == endOp || a.kind == endOp && b.kind == startOp
	case a.kind == hooks.Walk:
		return b.kind == hooks.Write && b.object < 0
	case b.kind == hooks.Walk:
		return a.kind == hooks.Write && a.object < 0
	}
	return a.object == b.object && (a.kind == hooks.Write || b.kind == hooks.Write)
}

// inIndex reports whether the event is an access to the index or a cell of it.
func (e event) inIndex() bool {
	return e.cell || e.kind == move || e.kind < startOp && e.object < 0
}

func (e event) String() string {
	kind := "?"
	switch e.kind {
	case hooks.Read:
		kind = "reads"
	case hooks.Write:
		kind = "writes"
	case hooks.Walk:
		kind = "walks"
	case startOp:
		return fmt.Sprintf("%c starts an operation", 'a'+e.actor)
	case endOp:
		return fmt.Sprintf("%c ends an operation", 'a'+e.actor)
	case move:
		return fmt.Sprintf("%c moves %s", 'a'+e.actor, e.site)
	}
	return fmt.Sprintf("%c %s #%d %s", 'a'+e.actor, kind, e.object, e.site)
}

// An explorer executes a scenario again and again, each time from a fresh map,
// until it has seen one schedule of every class: two schedules are of the same
// class if one becomes the other by exchanging neighbouring steps that commute.
// All schedules of a class have the same results. This is dynamic partial order
// reduction with source sets and sleep sets (Abdulla, Aronis, Jonsson and
// Sagonas, "Optimal Dynamic Partial Order Reduction", POPL 2014, algorithm 1).
//
// Where the classes are too many, preemptions are bounded (Musuvathi and Qadeer,
// "Iterative Context Bounding", PLDI 2007): only schedules are executed in which
// an actor that could go on is stopped at most so often. Then the sets are those
// of Coons, Musuvathi and McKinley ("Bounded Partial-Order Reduction", OOPSLA
// 2013): a step that is to be tried earlier is also tried where the actor that it
// overtakes began to run, where that costs no preemption; and nothing sleeps.
type explorer struct {
	scenario *scenario
	bound    int  // preemptions, or negative: no bound
	plain    bool // no reduction: everybody is tried everywhere
	check    func(x *execution) error

	path    []*branch
	runs    int // complete executions
	blocked int // given up: nothing but sleepers was left
	deepest int
}

// A branch is the state before one step of the present path.
type branch struct {
	chosen    int
	event     event // of the chosen one
	pending   []event
	ready     actorSet
	done      actorSet // explored before
	backtrack actorSet // to be explored
	sleep     actorSet // whatever begins with them has been explored elsewhere
	last      int      // which one made the step before, or -1
	spent     int      // preemptions before this step
	clock     []int    // by actor, the last of its steps that precedes this one
}

type actorSet uint

func (s actorSet) has(i int) bool { return s>>i&1 == 1 }
func setOf(i int) actorSet        { return 1 << i }
func (s actorSet) first() int     { return bits.TrailingZeros(uint(s)) }
func actors(s actorSet) (all []int) {
	for ; s != 0; s &= s - 1 {
		all = append(all, s.first())
	}
	return all
}

// run explores until nothing is left within the bound, or check finds
// something wrong: then it returns that execution.
func (x *explorer) run() (*execution, error) {
	for {
		fresh := max(len(x.path)-1, 0) // the first step that is new
		var diverged error
		depth := 0
		e := execute(x.scenario, false, func(e *execution, ready []int) int {
			if depth > 0 && depth <= fresh && x.path[depth-1].event != e.events[depth-1] {
				diverged = fmt.Errorf("not deterministic: step %d was %v, and is %v", depth,
					x.path[depth-1].event, e.events[depth-1])
				return -1
			}
			if depth > 0 {
				x.path[depth-1].event = e.events[depth-1]
			}
			if depth == len(x.path) {
				n := x.extend(e, ready)
				if n == nil {
					return -1
				}
				x.path = append(x.path, n)
			}
			depth++
			return x.path[depth-1].chosen
		})
		if diverged != nil {
			return e, diverged
		}
		for i := range e.events {
			x.path[i].event = e.events[i]
		}
		if e.end != nil {
			x.runs++
		} else {
			x.blocked++
		}
		x.deepest = max(x.deepest, len(e.events))
		if err := x.check(e); err != nil {
			return e, err
		}
		if !x.plain {
			x.races(fresh)
		}
		if !x.back() {
			return nil, nil
		}
	}
}

// extend makes the branch for a state that was not seen before, or returns nil if
// nothing need be done there.
func (x *explorer) extend(e *execution, ready []int) *branch {
	n := &branch{last: -1, pending: make([]event, len(e.actors))}
	for i, p := range e.actors {
		n.pending[i] = p.pending
	}
	for _, i := range ready {
		n.ready |= setOf(i)
	}
	if len(x.path) > 0 {
		parent := x.path[len(x.path)-1]
		n.last, n.spent = parent.chosen, parent.spent+x.price(parent, parent.chosen)
		if x.bound < 0 {
			for _, i := range actors((parent.sleep | parent.done) &^ setOf(parent.chosen)) {
				if !dependent(parent.pending[i], parent.event) {
					n.sleep |= setOf(i)
				}
			}
		}
	}
	awake := n.ready &^ n.sleep
	switch {
	case awake == 0:
		return nil
	case n.last >= 0 && awake.has(n.last):
		n.chosen = n.last
	default:
		n.chosen = awake.first()
	}
	n.backtrack = setOf(n.chosen)
	if x.plain {
		n.backtrack = n.ready
	}
	return n
}

// price is 1 if actor i at n means to stop another that could go on.
func (x *explorer) price(n *branch, i int) int {
	if n.last >= 0 && n.last != i && n.ready.has(n.last) {
		return 1
	}
	return 0
}

// races finds the pairs of steps of the path, the second of them not before
// step fresh, that are in a race: they are dependent, and nothing orders them
// but themselves. It has the second tried before the first.
func (x *explorer) races(fresh int) {
	for i := fresh; i < len(x.path); i++ {
		n := x.path[i]
		who := n.event.actor
		n.clock = make([]int, len(n.pending))
		for j := range n.clock {
			n.clock[j] = -1
		}
		for j := i - 1; j >= 0; j-- {
			if x.path[j].event.actor == who {
				copy(n.clock, x.path[j].clock)
				break
			}
		}
		var racing []int
		for j := i - 1; j >= 0; j-- {
			m := x.path[j]
			if m.event.actor == who || n.clock[m.event.actor] >= j || !dependent(m.event, n.event) {
				continue
			}
			for k, c := range m.clock {
				n.clock[k] = max(n.clock[k], c)
			}
			racing = append(racing, j)
		}
		n.clock[who] = i
		for _, j := range racing {
			x.reverse(j, i)
		}
	}
}

// reverse makes sure that step i is tried before step j.
func (x *explorer) reverse(j, i int) {
	n := x.path[j]
	if x.bound >= 0 {
		who := x.path[i].event.actor
		x.try(n, who)
		for j > 0 && x.path[j].chosen == x.path[j-1].chosen {
			j--
		}
		x.try(x.path[j], who)
		return
	}
	// Who can begin the steps that come after j but not because of it, and then step i.
	var initials, seen actorSet
	after := make([]int, 0, i-j)
	for k := j + 1; k <= i; k++ {
		m := x.path[k]
		if k < i && m.clock[n.event.actor] >= j {
			continue
		}
		who := m.event.actor
		if !seen.has(who) {
			seen |= setOf(who)
			begins := true
			for _, l := range after {
				a := x.path[l].event.actor
				begins = begins && m.clock[a] < l
			}
			if begins {
				initials |= setOf(who)
			}
		}
		after = append(after, k)
	}
	if initials&(n.backtrack|n.sleep) != 0 {
		return
	}
	if who := x.path[i].event.actor; initials.has(who) {
		n.backtrack |= setOf(who)
	} else {
		n.backtrack |= setOf(initials.first())
	}
}

// try has actor i tried at n, or, if it has ended there, everybody.
func (x *explorer) try(n *branch, i int) {
	if n.ready.has(i) {
		n.backtrack |= setOf(i)
	} else {
		n.backtrack |= n.ready
	}
}

// back turns to the deepest branch at which something is left to be tried.
func (x *explorer) back() bool {
	for len(x.path) > 0 {
		n := x.path[len(x.path)-1]
		n.done |= setOf(n.chosen)
		for _, i := range actors(n.backtrack &^ (n.done | n.sleep)) {
			if x.bound >= 0 && n.spent+x.price(n, i) > x.bound {
				n.done |= setOf(i)
				continue
			}
			n.chosen = i
			return true
		}
		x.path = x.path[:len(x.path)-1]
	}
	return false
}
