package contention

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"golang.org/x/exp/trace"
)

// FromTrace makes a report of an execution trace, as [runtime/trace.Start] or a flight recorder
// writes it. It takes about 300 ns for each event, on the calling goroutine, and memory in
// proportion to the number of waits. A wait that goes on at the end of the trace is counted until
// that end. A wait that began before the trace is counted from the start of the trace if it
// outlasts the first part, about a second. The place of a shorter one is not in the trace, and only
// [Report.Nowhere] counts it.
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
	Follower
	nowhere *Place // of waits of which the trace does not say where they were
}

func newTracer() *tracer {
	t := &tracer{nowhere: newPlace(nil)}
	t.Passed = t.work
	t.Done = func(_ trace.GoID, s Step) { t.tally(s) }
	t.Gone = func(trace.GoID, *Place) {}
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
	for _, y := range t.nowhere.tallies {
		report.Nowhere += y.total
	}
	report.list(slices.Collect(maps.Values(t.places)))
	return report
}

// work tallies a time in which a goroutine worked for the runtime.
func (t *tracer) work(r Range) {
	s := Step{At: r.At, Start: r.Start, End: r.End}
	switch {
	case r.Name == AssistRange:
		s.Kind = GCAssist
	case strings.HasPrefix(r.Name, StopRange):
		s.Kind = StopWorld
	}
	t.tally(s)
}

// tally adds a wait, which ends now if it has not ended.
func (t *tracer) tally(s Step) {
	if s.Kind == "" || s.Kind == Coroutine && s.At == nil {
		return
	}
	if s.At == nil {
		s.At = t.nowhere
	}
	goesOn := s.End == 0
	d := t.Now.Sub(s.Start)
	y := s.At.tally(wait{kind: s.Kind, idle: s.Early && goesOn})
	y.count++
	y.total += d
	y.each = append(y.each, d)
	if goesOn {
		y.waiting++
	}
}
