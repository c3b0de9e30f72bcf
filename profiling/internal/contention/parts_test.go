package contention

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/exp/trace"
)

// happen makes an event of a trace.
func happen[T trace.EventDetails](
	t *testing.T, at trace.Time, kind trace.EventKind, stack trace.Stack, details T,
) trace.Event {
	t.Helper()
	e, err := trace.MakeEvent(trace.EventConfig[T]{
		Kind: kind, Time: at, Stack: stack, Details: details,
	})
	require.NoError(t, err)
	return e
}

// part begins a part of a trace, the first one at 0.
func part(t *testing.T, at trace.Time) trace.Event {
	return happen(t, at, trace.EventSync, trace.NoStack, trace.Sync{})
}

// mainF is the stack of a function that calls another one, which waits.
func mainF(callee string) trace.Stack {
	return trace.MakeStack([]trace.StackFrame{{Func: callee, PC: 1}, {Func: "main.f", PC: 2}})
}

// A part of a trace says again which ranges go on, but for stops of the world. Each range is
// counted once, from its begin to its end, whether it ends in the same part, the next or a later
// one, and beside others of the same name.
func TestRangesOverParts(t *testing.T) {
	const stop = StopRange + "GC mark termination)"
	assist, begins := mainF("runtime.gcAssistAlloc"), trace.EventRangeBegin
	active, ends := trace.EventRangeActive, trace.EventRangeEnd
	ranged := func(at trace.Time, kind trace.EventKind, name string, id trace.GoID) trace.Event {
		stack := trace.NoStack // only the begin has one
		if kind == begins {
			stack = assist
		}
		scope := trace.MakeResourceID(id)
		return happen(t, at, kind, stack, trace.Range{Name: name, Scope: scope})
	}
	f := newTracer()
	f.begin()
	for _, e := range []trace.Event{
		part(t, 0),
		ranged(5, active, AssistRange, 9), // began before the trace: where is not known
		ranged(10, begins, AssistRange, 1),
		ranged(20, begins, AssistRange, 2),
		ranged(25, begins, AssistRange, 3),
		ranged(30, ends, AssistRange, 3),
		ranged(90, begins, stop, 4),
		part(t, 100),
		ranged(102, active, AssistRange, 9),
		ranged(103, active, AssistRange, 1),
		ranged(104, active, AssistRange, 2),
		ranged(110, ends, stop, 4),
		ranged(120, ends, AssistRange, 1),
		ranged(130, begins, AssistRange, 1),
		part(t, 200),
		ranged(201, active, AssistRange, 1),
		ranged(202, active, AssistRange, 2),
		ranged(203, active, AssistRange, 9),
		ranged(220, ends, AssistRange, 2),
		ranged(230, ends, AssistRange, 9),
		part(t, 300),
		ranged(301, active, AssistRange, 1),
	} {
		f.follow(e)
	}
	r := f.report()
	require.Len(t, r.Waits, 2)
	a, s := r.Waits[0], r.Waits[1]
	require.Equal(t, GCAssist, a.Kind)
	require.EqualValues(t, 110+200+5+171, a.Total, "of 1, 2, 3, and of 1 to the end of the trace")
	require.EqualValues(t, 4, a.Count)
	require.EqualValues(t, 200, a.Max)
	require.Equal(t, 1, a.Waiting)
	require.Equal(t, StopWorld, s.Kind)
	require.EqualValues(t, 1, s.Count)
	require.EqualValues(t, 20, s.Total)
}

// A part of a trace says again which goroutines wait. Each wait is counted once, from its begin or
// that of the trace, to its end or that of the trace.
func TestWaitsOverParts(t *testing.T) {
	const wait, ready = trace.GoWaiting, trace.GoRunnable
	receive := mainF("runtime.chanrecv1")
	turns := func(at trace.Time, id trace.GoID, from, to trace.GoState) trace.Event {
		tr := trace.MakeGoStateTransition(id, from, to)
		if to == wait {
			tr.Reason, tr.Stack = "chan receive", receive
		}
		return happen(t, at, trace.EventStateTransition, tr.Stack, tr)
	}
	early := trace.GoUndetermined
	f := newTracer()
	f.begin()
	for _, e := range []trace.Event{
		part(t, 0),
		turns(10, 1, trace.GoRunning, wait),
		turns(80, 2, early, wait),
		turns(90, 3, early, wait),
		part(t, 100),
		turns(101, 1, wait, wait),
		turns(102, 3, wait, wait),
		turns(103, 2, wait, wait),
		turns(150, 2, wait, ready),
		part(t, 200),
		turns(201, 1, wait, wait),
		turns(202, 3, wait, wait),
		turns(240, 1, wait, ready),
		part(t, 300),
	} {
		f.follow(e)
	}
	sites := map[bool]Site{}
	for _, s := range f.report().Waits {
		if s.Kind == ChanReceive {
			sites[s.Idle] = s
		}
	}
	require.EqualValues(t, 2, sites[false].Count)
	require.EqualValues(t, 230+150, sites[false].Total, "of 1 and of 2")
	require.EqualValues(t, 1, sites[true].Count)
	require.Equal(t, time.Duration(300), sites[true].Total, "of 3")
	require.Equal(t, 1, sites[true].Waiting)
}
