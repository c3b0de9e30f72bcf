package contention

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/exp/trace"
)

// A Follower reads an execution trace and knows the state of each goroutine.
type Follower struct {
	First, Now trace.Time
	Events     int
	// Open has the present steps of goroutines, and Ranges the present ranges of the runtime.
	Open   map[trace.GoID]Step
	Ranges map[RangeKey]Range

	// Done is called for each step that has ended, Passed for each range, and Gone for each
	// goroutine that has ended, after its last step, with the place at which it ended.
	Done   func(id trace.GoID, s Step)
	Gone   func(id trace.GoID, at *Place)
	Passed func(r Range)

	stacks map[trace.Stack]*Place // within a part of the trace
	places map[string]*Place      // by program counters
	last   map[trace.GoID]*Place  // where each stopped running
}

// A Step is a time in which a goroutine was in one state. Its place is nil if the trace does not
// have it.
type Step struct {
	State      trace.GoState
	Kind       Kind // of a wait, "" if it says nothing about the program
	At         *Place
	Start, End trace.Time // End is 0 while it lasts
	Early      bool       // it began before the trace
	Waker      trace.GoID // of a wait that has ended
	WakerAt    *Place
}

// Names of ranges: StopRange is the prefix of all stops of the world. AssistRange is the time in
// which one goroutine works for the collector.
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
type Range struct {
	RangeKey
	At         *Place     // at which it began, nil if that is not known
	Start, End trace.Time // End is 0 while it lasts
}

// Read passes the events of a trace to event, which returns false to stop. It takes
// about 300 ns for each event. The error is [io.EOF] at the end.
func (f *Follower) Read(r io.Reader, event func(e trace.Event) bool) error {
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
func (f *Follower) begin() {
	f.Open, f.Ranges = map[trace.GoID]Step{}, map[RangeKey]Range{}
	f.stacks, f.places = map[trace.Stack]*Place{}, map[string]*Place{}
	f.last = map[trace.GoID]*Place{}
}

// follow takes the next event. A trace consists of parts. Each part repeats the steps and ranges
// that go on at its start: they neither end nor begin there.
func (f *Follower) follow(e trace.Event) {
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
func (f *Follower) ranged(e trace.Event) {
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
	case end, is: // the trace lacks its begin, or says again that it lasts
	default:
		open = Range{RangeKey: key, At: f.place(e.Stack()), Start: f.Now}
		if e.Kind() == trace.EventRangeActive {
			open.Start = f.First
		}
		f.Ranges[key] = open
	}
}

// transition follows one goroutine from state to state.
func (f *Follower) transition(e trace.Event, tr trace.StateTransition) {
	id := tr.Resource.Goroutine()
	from, to := tr.Goroutine()
	if from == to {
		return // each part of a trace repeats the states at its start
	}
	if s, ok := f.Open[id]; ok {
		s.End = f.Now
		if from == trace.GoWaiting && to == trace.GoRunnable {
			s.Waker, s.WakerAt = e.Goroutine(), f.place(e.Stack())
		}
		delete(f.Open, id)
		f.Done(id, s)
	}
	at := f.place(tr.Stack)
	if at == nil && from != trace.GoNotExist {
		at = f.last[id]
	}
	if to == trace.GoNotExist {
		delete(f.last, id)
		f.Gone(id, at)
		return
	}
	f.last[id] = at
	s := Step{State: to, At: at, Start: f.Now, Waker: trace.NoGoroutine}
	if from == trace.GoUndetermined {
		s.Start, s.Early = f.First, true // only now the trace says in which state it has been
	}
	switch to {
	case trace.GoWaiting:
		s.Kind = kindOf(tr.Reason, at.Frames())
		if from == trace.GoRunning && tr.Reason == "" { // without a stack of its own
			s.Kind, s.At = Coroutine, nil
		}
	case trace.GoSyscall:
		s.Kind = Syscall
	case trace.GoRunnable:
		s.Kind = Scheduler
	}
	f.Open[id] = s
}

// place returns the place of a stack, the same for equal ones; nil if the trace does not have it.
func (f *Follower) place(h trace.Stack) *Place {
	if h == trace.NoStack {
		return nil
	}
	p, ok := f.stacks[h]
	if ok {
		return p
	}
	var frames []Frame
	var key []byte
	for fr := range h.Frames() {
		frames = append(frames, Frame{fr.Func, fr.File, int(fr.Line), fr.PC})
		key = binary.AppendUvarint(key, fr.PC)
	}
	if p = f.places[string(key)]; p == nil && frames != nil {
		p = newPlace(frames)
		f.places[string(key)] = p
	}
	f.stacks[h] = p
	return p
}
