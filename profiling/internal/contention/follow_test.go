package contention

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/exp/trace"
)

// A part of a trace says again which ranges go on, but for stops of the world. Each range is
// counted once, from its begin to its end, whether it ends in the same part, the next or a later
// one, and beside others of the same name.
func TestRangesOverParts(t *testing.T) {
	const stop = StopRange + "GC mark termination)"
	const begins, active, ends = trace.EventRangeBegin, trace.EventRangeActive, trace.EventRangeEnd
	stack := trace.MakeStack([]trace.StackFrame{{Func: "main.f", PC: 1}})
	ranged := func(at trace.Time, kind trace.EventKind, name string, id trace.GoID) trace.Event {
		c := trace.EventConfig[trace.Range]{Time: at, Kind: kind}
		c.Details = trace.Range{Name: name, Scope: trace.MakeResourceID(id)}
		if kind == begins { // the others have no stack
			c.Stack = stack
		}
		e, err := trace.MakeEvent(c)
		require.NoError(t, err)
		return e
	}
	part := func(at trace.Time) trace.Event {
		e, err := trace.MakeEvent(trace.EventConfig[trace.Sync]{Time: at, Kind: trace.EventSync})
		require.NoError(t, err)
		return e
	}
	f := newTracer()
	f.begin()
	for _, e := range []trace.Event{
		part(0),
		ranged(5, active, AssistRange, 9), // began before the trace: where is not known
		ranged(10, begins, AssistRange, 1),
		ranged(20, begins, AssistRange, 2),
		ranged(25, begins, AssistRange, 3),
		ranged(30, ends, AssistRange, 3),
		ranged(90, begins, stop, 4),
		part(100),
		ranged(102, active, AssistRange, 9),
		ranged(103, active, AssistRange, 1),
		ranged(104, active, AssistRange, 2),
		ranged(110, ends, stop, 4),
		ranged(120, ends, AssistRange, 1),
		ranged(130, begins, AssistRange, 1),
		part(200),
		ranged(201, active, AssistRange, 1),
		ranged(202, active, AssistRange, 2),
		ranged(203, active, AssistRange, 9),
		ranged(220, ends, AssistRange, 2),
		ranged(230, ends, AssistRange, 9),
		part(300),
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

// A goroutine that has to wait for the collector while it allocates waits for that, and not for the
// timer, lock or channel of its call.
func TestKindOf(t *testing.T) {
	stack := func(functions ...string) (frames []Frame) {
		for _, f := range functions {
			frames = append(frames, Frame{Func: f})
		}
		return frames
	}
	for _, tt := range []struct {
		reason string
		stack  []Frame
		kind   Kind
	}{
		{"sync", stack("runtime.gcMarkDone", "runtime.gcAssistAlloc", "runtime.mallocgc", "time.Sleep",
			"main.f"), GCWait},
		{"sync", stack("runtime.gcStart", "runtime.mallocgc", "sync.(*Mutex).Lock", "main.f"),
			GCWait},
		{"unspecified", stack("runtime.gcAssistAlloc", "runtime.chanrecv1", "main.f"),
			GCAssist},
		{"sync", stack("internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "sync.(*Once).doSlow",
			"main.f"), Once},
		{"sync", stack("sync.(*Mutex).Lock", "sync.(*Cond).Wait", "main.f"), Mutex},
		{"select", stack("runtime.selectgo", "github.com/mvccmap/mvccmap/internal/engine/favour.(*Claim).Wait",
			"main.f"), Claim},
		{"chan receive", stack("runtime.chanrecv1",
			"github.com/mvccmap/mvccmap/internal/engine/favour.(*Queue).await", "main.f"), Claim},
		{"select", stack("runtime.selectgo", "main.f",
			"github.com/mvccmap/mvccmap/internal/engine/favour.(*Claim).Wait"), Select},
		{"sleep", nil, Sleep},
		{"", stack("runtime.coroswitch", "iter.Pull[...].func1.1", "main.f"), Coroutine},
		{"sync", stack("main.f"), Other},
		{"system goroutine wait", nil, ""},
	} {
		require.Equal(t, tt.kind, kindOf(tt.reason, tt.stack), tt)
	}
	require.Equal(t, "main.f", siteOf(stack("runtime.chanrecv", "time.Sleep", "main.f",
		"main.main")).Func)
}
