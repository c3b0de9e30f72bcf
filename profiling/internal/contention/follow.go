package contention

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/exp/trace"
)

// A Follower reads an execution trace and knows what each goroutine does. S is what Frames
// makes of a stack; its zero value stands for no stack.
type Follower[S any] struct {
	First, Now trace.Time
	Events     int
	// Open has what goroutines do at present, and Ranges what the runtime does.
	Open   map[trace.GoID]Step[S]
	Ranges map[RangeKey]Range[S]

	// Frames makes something of a stack, leaf first: once in each part of the trace.
	Frames func(frames []Frame) S
	// Done is told of each step that has ended, and Gone of a goroutine that has,
	// after its last step, with the stack at which it ended; Passed of each range.
	Done   func(id trace.GoID, s Step[S])
	Gone   func(id trace.GoID, at S)
	Passed func(r Range[S])

	stacks map[trace.Stack]stackOf[S] // within a part of the trace
	last   map[trace.GoID]stackOf[S]  // where each stopped running
}

type stackOf[S any] struct {
	frames []Frame
	of     S
}

// A Step is a time in which a goroutine was in one state.
type Step[S any] struct {
	State      trace.GoState
	Kind       Kind // of a wait, "" if it says nothing about the program
	Stack      S
	Start, End trace.Time // End is 0 while it lasts
	Early      bool       // it began before the trace
	Waker      trace.GoID // of a wait that has ended
	WakerStack S
}

// Names of ranges: StopRange is the prefix of stops of the world, and AssistRange is of one
// goroutine, which works for the collector.
const (
	AssistRange = "GC mark assist"
	MarkRange   = "GC concurrent mark phase"
	StopRange   = "stop-the-world ("
)

// A RangeKey tells ranges apart that go on at the same time.
type RangeKey struct {
	Of   trace.GoID // NoGoroutine: of the whole program
	Name string
}

// A Range is a time in which the runtime did something.
type Range[S any] struct {
	RangeKey
	Stack      S          // at which it began
	Start, End trace.Time // End is 0 while it lasts
}

// Read passes the events of a trace to event, which returns false to stop. It takes
// about 300 ns for each event. The error is [io.EOF] at the end.
func (f *Follower[S]) Read(r io.Reader, event func(e trace.Event) bool) error {
	f.begin()
	reader, err := trace.NewReader(r)
	if err != nil {
		return fmt.Errorf("reading the execution trace: %w", err)
	}
	for {
		e, err := reader.ReadEvent()
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		if err != nil {
			return fmt.Errorf("reading the execution trace: %w", err)
		}
		f.follow(e)
		if !event(e) {
			return nil
		}
	}
}

// begin makes f ready for the first event.
func (f *Follower[S]) begin() {
	f.Open, f.Ranges = map[trace.GoID]Step[S]{}, map[RangeKey]Range[S]{}
	f.stacks, f.last = map[trace.Stack]stackOf[S]{}, map[trace.GoID]stackOf[S]{}
}

// follow takes the next event. A trace consists of parts. Each part says again what goes on at
// its start: that neither ends a step or range nor begins one.
func (f *Follower[S]) follow(e trace.Event) {
	if f.Now = e.Time(); f.Events == 0 {
		f.First = f.Now
	}
	f.Events++
	switch e.Kind() {
	case trace.EventSync:
		clear(f.stacks) // of a part of the trace that has ended
	case trace.EventStateTransition:
		if tr := e.StateTransition(); tr.Resource.Kind == trace.ResourceGoroutine {
			f.transition(e, tr)
		}
	case trace.EventRangeBegin, trace.EventRangeActive, trace.EventRangeEnd:
		f.ranged(e)
	}
}

// ranged follows the ranges that have names here.
func (f *Follower[S]) ranged(e trace.Event) {
	r := e.Range()
	key := RangeKey{trace.NoGoroutine, r.Name}
	switch {
	case r.Name == AssistRange:
		key.Of = r.Scope.Goroutine()
	case r.Name != MarkRange && !strings.HasPrefix(r.Name, StopRange):
		return
	}
	open, is := f.Ranges[key]
	switch end := e.Kind() == trace.EventRangeEnd; {
	case end && is:
		open.End = f.Now
		delete(f.Ranges, key)
		f.Passed(open)
	case end, is: // its begin is not in the trace, or it is said again that it lasts
	default:
		open = Range[S]{RangeKey: key, Stack: f.stack(e.Stack()).of, Start: f.Now}
		if e.Kind() == trace.EventRangeActive {
			open.Start = f.First
		}
		f.Ranges[key] = open
	}
}

// transition follows one goroutine from state to state.
func (f *Follower[S]) transition(e trace.Event, tr trace.StateTransition) {
	id := tr.Resource.Goroutine()
	from, to := tr.Goroutine()
	if from == to {
		return // said again at the start of each part of a trace
	}
	if s, ok := f.Open[id]; ok {
		s.End = f.Now
		if from == trace.GoWaiting && to == trace.GoRunnable {
			s.Waker, s.WakerStack = e.Goroutine(), f.stack(e.Stack()).of
		}
		delete(f.Open, id)
		f.Done(id, s)
	}
	at := f.stack(tr.Stack)
	if at.frames == nil && from != trace.GoNotExist {
		at = f.last[id]
	}
	if to == trace.GoNotExist {
		delete(f.last, id)
		f.Gone(id, at.of)
		return
	}
	f.last[id] = at
	s := Step[S]{State: to, Stack: at.of, Start: f.Now, Waker: trace.NoGoroutine}
	if from == trace.GoUndetermined {
		s.Start, s.Early = f.First, true // only now the trace says in what state it has been
	}
	switch to {
	case trace.GoWaiting:
		s.Kind = kindOf(tr.Reason, at.frames)
	case trace.GoSyscall:
		s.Kind = Syscall
	case trace.GoRunnable:
		s.Kind = Scheduler
	}
	f.Open[id] = s
}

// stack returns a stack, and what was made of it.
func (f *Follower[S]) stack(h trace.Stack) (s stackOf[S]) {
	if h == trace.NoStack {
		return s
	}
	s, ok := f.stacks[h]
	if !ok {
		for fr := range h.Frames() {
			s.frames = append(s.frames, Frame{fr.Func, fr.File, int(fr.Line), fr.PC})
		}
		if s.frames != nil {
			s.of = f.Frames(s.frames)
		}
		f.stacks[h] = s
	}
	return s
}
