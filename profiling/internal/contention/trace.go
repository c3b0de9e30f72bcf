package contention

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/exp/trace"
)

// FromTrace makes a report of an execution trace, as [runtime/trace.Start] or a
// flight recorder writes it. It takes about 300 ns for each event, on the
// calling goroutine, and memory in proportion to the number of waits. A wait that
// goes on at the end of the trace is counted until there. One that began before the
// trace is counted from the start of the trace, but it has a place only if it outlasts the
// first part, about a second: otherwise the trace does not say where it was. Those without a
// place, those of the runtime's own goroutines and of this module's profiling packages are
// left out: [Report.LeftOut] counts them.
func FromTrace(r io.Reader) (*Report, error) {
	t := newTracer()
	every := func(trace.Event) bool { return true }
	if err := t.Read(r, every); !errors.Is(err, io.EOF) {
		return nil, err
	}
	return t.report(), nil
}

// A tracer tallies the waits of a trace.
type tracer struct {
	Follower[*stack]
	stacks  map[string]*stack // by program counters
	nowhere *stack            // of waits of which the trace does not say where they were
}

func newTracer() *tracer {
	t := &tracer{stacks: map[string]*stack{}, nowhere: newStack(nil)}
	t.Frames, t.Passed = t.stackOf, t.work
	t.Done = func(_ trace.GoID, s Step[*stack]) { t.tally(s) }
	t.Gone = func(trace.GoID, *stack) {}
	return t
}

// report returns the report, after the last event.
func (t *tracer) report() *Report {
	for _, s := range t.Open {
		t.tally(s)
	}
	for _, r := range t.Ranges {
		t.work(r)
	}
	report := &Report{
		Source: "execution trace", Exact: true, Events: t.Events, Window: t.Now.Sub(t.First),
	}
	stacks := []*stack{t.nowhere}
	for _, s := range t.stacks {
		stacks = append(stacks, s)
	}
	report.stacks, report.LeftOut = split(stacks)
	all := sites(report.stacks)
	report.Sites, report.Waits = len(all), longest(all)
	return report
}

// work tallies a time in which a goroutine worked for the runtime.
func (t *tracer) work(r Range[*stack]) {
	s := Step[*stack]{Stack: r.Stack, Start: r.Start, End: r.End}
	switch {
	case r.Name == AssistRange:
		s.Kind = GCAssist
	case strings.HasPrefix(r.Name, StopRange):
		s.Kind = StopWorld
	}
	t.tally(s)
}

// tally adds a wait, which ends now if it has not ended.
func (t *tracer) tally(s Step[*stack]) {
	if s.Kind == "" {
		return
	}
	if s.Stack == nil {
		s.Stack = t.nowhere
	}
	goesOn := s.End == 0
	d := t.Now.Sub(s.Start)
	y := s.Stack.tally(wait{kind: s.Kind, idle: s.Early && goesOn})
	y.count++
	y.total += d
	y.each = append(y.each, d)
	if goesOn {
		y.waiting++
	}
}

// stackOf returns the stack of these frames.
func (t *tracer) stackOf(frames []Frame) *stack {
	var key strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&key, "%x ", f.PC)
	}
	s := t.stacks[key.String()]
	if s == nil {
		s = newStack(frames)
		t.stacks[key.String()] = s
	}
	return s
}
