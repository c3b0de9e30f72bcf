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
// trace is counted from the start of the trace, but only if it outlasts the first
// part, about a second: otherwise the trace does not say where it was. Waits of the
// runtime's own goroutines and of this module's profiling packages are left out.
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
	stacks map[string]*stack // by program counters
}

func newTracer() *tracer {
	t := &tracer{stacks: map[string]*stack{}}
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
	for _, s := range t.stacks {
		report.stacks = append(report.stacks, s)
	}
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
	if s.Kind == "" || s.Stack == nil || s.Stack.site.Func == "" {
		return
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

// stackOf returns the stack of these frames. A stack that is not reported has no
// site.
func (t *tracer) stackOf(frames []Frame) *stack {
	var key strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&key, "%x ", f.PC)
	}
	s := t.stacks[key.String()]
	if s == nil {
		s = newStack(frames)
		if isOwn(frames) || isRuntime(frames) {
			s.site = Frame{}
		}
		t.stacks[key.String()] = s
	}
	return s
}

// isRuntime reports whether a stack has nothing but functions of the runtime.
func isRuntime(frames []Frame) bool {
	for _, f := range frames {
		p := packageOf(f.Func)
		if p != "runtime" && !strings.HasPrefix(p, "runtime/") &&
			!strings.HasPrefix(p, "internal/runtime/") {
			return false
		}
	}
	return true
}

// ownPackage has the code that makes reports, meterPackage the meter of hiccups.
const (
	ownPackage   = "github.com/mvccmap/mvccmap/profiling"
	meterPackage = "github.com/mvccmap/mvccmap/internal/machine"
)

// isOwn reports whether a stack belongs to the making of a report: to package
// profiling or what it consists of, unless it only calls code of the program with
// labels, to the meter of hiccups, or to the goroutine that writes the trace.
func isOwn(frames []Frame) bool {
	for _, f := range frames {
		pkg := packageOf(f.Func)
		inside := strings.HasPrefix(pkg, ownPackage+"/internal/") &&
			!strings.HasSuffix(pkg, "_test")
		if inside || pkg == meterPackage || pkg == ownPackage && f.Func != ownPackage+".Labels.Do" {
			return true
		}
	}
	return packageOf(SiteOf(frames).Func) == "runtime/trace"
}
