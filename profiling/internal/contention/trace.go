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
// calling goroutine, and memory in proportion to the number of waits. A wait
// that began before the trace is counted from the start of the trace, one that
// goes on at its end until there. Waits of the runtime's own goroutines and of
// this module's profiling packages are left out.
func FromTrace(r io.Reader) (*Report, error) {
	reader, err := trace.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("reading the execution trace: %w", err)
	}
	t := tracer{
		handles:    map[trace.Stack]*stack{},
		stacks:     map[string]*stack{},
		goroutines: map[trace.GoID]*goroutine{},
		ranges:     map[rangeKey]*pending{},
	}
	report := &Report{Source: "execution trace", Exact: true}
	for {
		e, err := reader.ReadEvent()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading the execution trace: %w", err)
		}
		t.event(e)
		report.Events++
	}
	t.finish()
	if t.started {
		report.Window = t.now.Sub(t.first)
	}
	for _, s := range t.stacks {
		report.stacks = append(report.stacks, s)
	}
	all := sites(report.stacks)
	report.Sites, report.Waits = len(all), longest(all)
	return report, nil
}

// A tracer follows the goroutines of a trace.
type tracer struct {
	started    bool
	first, now trace.Time
	handles    map[trace.Stack]*stack // within a part of the trace
	stacks     map[string]*stack      // by program counters
	goroutines map[trace.GoID]*goroutine
	ranges     map[rangeKey]*pending
}

// A goroutine is what is known of one that has not ended.
type goroutine struct {
	last *stack   // where it stopped running; nil if not known
	wait *pending // nil while it runs
}

// A pending wait has begun.
type pending struct {
	kind  Kind
	stack *stack
	since trace.Time
	early bool // it began before the trace
}

type rangeKey struct {
	goroutine trace.GoID
	name      string
}

// keyOf returns what a range has in common with its end.
func keyOf(e trace.Event, r trace.Range) rangeKey {
	if r.Scope.Kind == trace.ResourceGoroutine {
		return rangeKey{r.Scope.Goroutine(), r.Name}
	}
	return rangeKey{e.Goroutine(), r.Name}
}

func (t *tracer) event(e trace.Event) {
	t.now = e.Time()
	if !t.started {
		t.started, t.first = true, t.now
	}
	switch e.Kind() {
	case trace.EventStateTransition:
		if tr := e.StateTransition(); tr.Resource.Kind == trace.ResourceGoroutine {
			t.transition(tr)
		}
	case trace.EventRangeBegin, trace.EventRangeActive:
		rg := e.Range()
		if kind := kindOfRange(rg.Name); kind != "" {
			t.ranges[keyOf(e, rg)] = &pending{kind: kind, stack: t.stack(e.Stack()), since: t.now}
		}
	case trace.EventRangeEnd:
		k := keyOf(e, e.Range())
		t.end(t.ranges[k], false)
		delete(t.ranges, k)
	}
}

// kindOfRange returns the kind of a stretch of time in which a goroutine works
// for the runtime, "" if it does not matter.
func kindOfRange(name string) Kind {
	switch {
	case name == "GC mark assist":
		return GCAssist
	case strings.HasPrefix(name, "stop-the-world"):
		return StopWorld
	}
	return ""
}

// transition follows one goroutine from state to state.
func (t *tracer) transition(tr trace.StateTransition) {
	id := tr.Resource.Goroutine()
	g := t.goroutines[id]
	if g == nil {
		g = new(goroutine)
		t.goroutines[id] = g
	}
	from, to := tr.Goroutine()
	if from == to {
		return // said again at the start of each part of a trace
	}
	t.end(g.wait, false)
	g.wait = nil
	at := t.stack(tr.Stack)
	if at == nil && from != trace.GoNotExist {
		at = g.last
	}
	switch to {
	case trace.GoNotExist:
		delete(t.goroutines, id)
		return // its wait has ended above
	case trace.GoWaiting:
		var frames []Frame
		if at != nil {
			frames = at.frames
		}
		kind, ok := KindOf(tr.Reason, frames)
		if !ok {
			break
		}
		g.wait = t.begin(kind, at)
	case trace.GoSyscall:
		g.wait = t.begin(Syscall, at)
	case trace.GoRunnable:
		g.wait = t.begin(Scheduler, at)
	}
	if from == trace.GoUndetermined && g.wait != nil {
		// The trace says only now in what state it has been since the start.
		g.wait.since, g.wait.early = t.first, true
	}
	g.last = at
}

func (t *tracer) begin(k Kind, s *stack) *pending { return &pending{kind: k, stack: s, since: t.now} }

// end adds the length of a wait, which may be nil.
func (t *tracer) end(p *pending, goesOn bool) {
	if p == nil || p.stack == nil || p.stack.site.Func == "" {
		return
	}
	d := t.now.Sub(p.since)
	y := p.stack.tally(wait{kind: p.kind, idle: p.early && goesOn})
	y.count++
	y.total += d
	y.each = append(y.each, d)
	if goesOn {
		y.waiting++
	}
}

// finish ends what is still pending.
func (t *tracer) finish() {
	for _, g := range t.goroutines {
		t.end(g.wait, true)
	}
	for _, p := range t.ranges {
		t.end(p, true)
	}
}

// stack returns the stack of a handle, or nil if there is none. Stacks that are
// not reported have no site.
func (t *tracer) stack(h trace.Stack) *stack {
	if h == trace.NoStack {
		return nil
	}
	if s := t.handles[h]; s != nil {
		return s
	}
	var frames []Frame
	var key strings.Builder
	for f := range h.Frames() {
		frames = append(frames, Frame{Func: f.Func, File: f.File, Line: int(f.Line), PC: f.PC})
		fmt.Fprintf(&key, "%x ", f.PC)
	}
	if len(frames) == 0 {
		return nil
	}
	s := t.stacks[key.String()]
	if s == nil {
		s = newStack(frames)
		if isOwn(frames) || isRuntime(frames) {
			s.site = Frame{}
		}
		t.stacks[key.String()] = s
	}
	t.handles[h] = s
	return s
}

// isRuntime reports whether a stack has nothing but functions of the runtime.
func isRuntime(frames []Frame) bool {
	for _, f := range frames {
		if p := packageOf(f.Func); p != "runtime" && !strings.HasPrefix(p, "runtime/") && !strings.HasPrefix(p, "internal/runtime/") {
			return false
		}
	}
	return true
}

// ownPackage has the code that makes reports.
const ownPackage = "github.com/mvccmap/mvccmap/profiling"

// isOwn reports whether a stack belongs to the making of a report: to package
// profiling or what it consists of, unless it only calls code of the program with
// labels, or to the goroutine that writes the trace.
func isOwn(frames []Frame) bool {
	for _, f := range frames {
		pkg := packageOf(f.Func)
		inside := strings.HasPrefix(pkg, ownPackage+"/internal/") && !strings.HasSuffix(pkg, "_test")
		if inside || pkg == ownPackage && f.Func != ownPackage+".Labels.Do" {
			return true
		}
	}
	return packageOf(siteOf(frames).Func) == "runtime/trace"
}
