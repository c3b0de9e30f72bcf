package slow

import (
	"context"
	"errors"
	"fmt"
	"io"
	rtrace "runtime/trace"
	"strconv"
	"strings"
	"time"

	"golang.org/x/exp/trace"

	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

// markCategory is the category of the log events that marks are.
const markCategory = "slow operation"

// Mark says in the execution trace, if one is being taken, that the calling
// goroutine ended the operation with this number at that time, which is just now.
// It costs less than a microsecond, nothing to speak of if there is no trace, and
// never blocks.
func Mark(id uint64, end time.Time) {
	if rtrace.IsEnabled() {
		rtrace.Log(context.Background(), markCategory, fmt.Sprint(id, " ", int64(time.Since(end))))
	}
}

// parseMark returns what [Mark] wrote: the number, and for how long the operation
// had ended.
func parseMark(message string) (id uint64, ago time.Duration, ok bool) {
	number, since, _ := strings.Cut(message, " ")
	id, err := strconv.ParseUint(number, 10, 64)
	ns, err2 := strconv.ParseInt(since, 10, 64)
	return id, time.Duration(max(ns, 0)), err == nil && err2 == nil
}

// slack is how much more than the length of the operation is remembered, because
// a mark may be late.
const slack = 50 * time.Millisecond

// ErrNoMark is what [FromTrace] returns if the trace does not have the mark: it
// ended before, began after, or was not being taken.
var ErrNoMark = errors.New("slow: the trace does not have the end of the operation")

// FromTrace reports on the operation that ended with mark id after it had taken
// that long. It reads the trace until the mark, which takes about 300 ns for
// each event, and remembers what all goroutines did for the length of the
// operation. The error is [ErrNoMark], or says why the trace cannot be read.
func FromTrace(r io.Reader, id uint64, took time.Duration) (*Report, error) {
	reader, err := trace.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("reading the execution trace: %w", err)
	}
	f := follower{
		took:       max(took, 1),
		memory:     trace.Time(max(took, 1) + slack),
		handles:    map[trace.Stack][]contention.Frame{},
		goroutines: map[trace.GoID]*goroutine{},
		ranges:     map[trace.ResourceID]*ranges{},
	}
	for {
		e, err := reader.ReadEvent()
		if errors.Is(err, io.EOF) {
			return nil, ErrNoMark
		}
		if err != nil {
			return nil, fmt.Errorf("reading the execution trace: %w", err)
		}
		if e.Kind() == trace.EventLog {
			l := e.Log()
			if n, ago, ok := parseMark(l.Message); ok && n == id && l.Category == markCategory {
				f.now = e.Time()
				return f.report(e.Goroutine(), ago), nil
			}
		}
		f.event(e)
	}
}

// A follower knows what every goroutine did of late.
type follower struct {
	took       time.Duration
	memory     trace.Time // how far back what was done is remembered
	started    bool
	first, now trace.Time
	handles    map[trace.Stack][]contention.Frame // within a part of the trace
	goroutines map[trace.GoID]*goroutine
	ranges     map[trace.ResourceID]*ranges // ResourceID{}: of the whole program
	ended      []endedGoroutine             // of those in goroutines, the first to end first
}

type endedGoroutine struct {
	id trace.GoID
	at trace.Time
}

// forgetEnded forgets the goroutines that ended before then.
func (f *follower) forgetEnded(then trace.Time) {
	for len(f.ended) > 0 && f.ended[0].at < then {
		delete(f.goroutines, f.ended[0].id)
		delete(f.ranges, trace.MakeResourceID(f.ended[0].id))
		f.ended = f.ended[1:]
	}
}

// A goroutine is what is known of one.
type goroutine struct {
	spans  []span // the last may not have ended
	last   []contention.Frame
	pruned int // len(spans) after the last pruning
}

// A span is a time in which a goroutine was in one state.
type span struct {
	state      trace.GoState
	kind       contention.Kind // of a wait
	stack      []contention.Frame
	start, end trace.Time // end is 0 while it lasts
	waker      trace.GoID // of a wait that has ended
	wakerStack []contention.Frame
}

// ranges are times in which something was going on that has a name.
type ranges struct {
	open map[string]trace.Time
	done []namedSpan
}

type namedSpan struct {
	name       string
	start, end trace.Time
}

func (f *follower) event(e trace.Event) {
	f.now = e.Time()
	if !f.started {
		f.started, f.first = true, f.now
	}
	switch e.Kind() {
	case trace.EventSync:
		clear(f.handles) // of a part of the trace that has ended
	case trace.EventStateTransition:
		if tr := e.StateTransition(); tr.Resource.Kind == trace.ResourceGoroutine {
			f.transition(e, tr)
		}
	case trace.EventRangeBegin, trace.EventRangeActive:
		if key, ok := rangeKey(e); ok {
			r := f.ranges[key]
			if r == nil {
				r = &ranges{open: map[string]trace.Time{}}
				f.ranges[key] = r
			}
			name := e.Range().Name
			if _, ok := r.open[name]; !ok {
				r.open[name] = f.now
				if e.Kind() == trace.EventRangeActive {
					r.open[name] = f.first
				}
			}
		}
	case trace.EventRangeEnd:
		if key, ok := rangeKey(e); ok {
			if r := f.ranges[key]; r != nil {
				name := e.Range().Name
				if start, ok := r.open[name]; ok {
					delete(r.open, name)
					r.done = append(r.forget(f.now-f.memory), namedSpan{name, start, f.now})
				}
			}
		}
	}
}

// Names of ranges.
const (
	assistRange = "GC mark assist"
	markRange   = "GC concurrent mark phase"
	stopPrefix  = "stop-the-world ("
)

// rangeKey returns under which key the range of an event is kept.
func rangeKey(e trace.Event) (key trace.ResourceID, ok bool) {
	r := e.Range()
	switch {
	case r.Name == assistRange:
		if r.Scope.Kind == trace.ResourceGoroutine {
			return r.Scope, true
		}
		return trace.MakeResourceID(e.Goroutine()), true
	case r.Name == markRange, strings.HasPrefix(r.Name, stopPrefix):
		return trace.ResourceID{}, true
	}
	return key, false
}

// forget returns the ranges that ended after then, if the others are many.
func (r *ranges) forget(then trace.Time) []namedSpan {
	if len(r.done) < 64 || r.done[0].end > then {
		return r.done
	}
	keep := r.done[:0]
	for _, s := range r.done {
		if s.end > then {
			keep = append(keep, s)
		}
	}
	return keep
}

// transition follows one goroutine from state to state.
func (f *follower) transition(e trace.Event, tr trace.StateTransition) {
	id := tr.Resource.Goroutine()
	g := f.goroutines[id]
	if g == nil {
		g = new(goroutine)
		f.goroutines[id] = g
	}
	from, to := tr.Goroutine()
	if from == to {
		return // what was known already is said again
	}
	start := f.now
	if n := len(g.spans); n > 0 && g.spans[n-1].end == 0 {
		last := &g.spans[n-1]
		last.end = f.now
		if from == trace.GoWaiting && to == trace.GoRunnable {
			last.waker, last.wakerStack = e.Goroutine(), f.stack(e.Stack())
		}
	}
	if from == trace.GoUndetermined {
		start = f.first // the trace says only now in what state it has been
	}
	at := f.stack(tr.Stack)
	if at == nil {
		at = g.last
	}
	if from == trace.GoNotExist {
		at = f.stack(tr.Stack)
	}
	g.last = at
	if to == trace.GoNotExist {
		g.forget(f.now - f.memory)
		f.ended = append(f.ended, endedGoroutine{id, f.now})
		f.forgetEnded(f.now - f.memory)
		return
	}
	s := span{state: to, stack: at, start: start, waker: trace.NoGoroutine}
	switch to {
	case trace.GoWaiting:
		var ok bool
		if s.kind, ok = contention.KindOf(tr.Reason, at); !ok {
			s.kind = contention.Other
		}
	case trace.GoSyscall:
		s.kind = contention.Syscall
	case trace.GoRunnable:
		s.kind = contention.Scheduler
	}
	if len(g.spans) > 2*g.pruned+16 {
		g.forget(f.now - f.memory)
	}
	g.spans = append(g.spans, s)
}

// forget drops the spans that ended before then.
func (g *goroutine) forget(then trace.Time) {
	keep := g.spans[:0]
	for _, s := range g.spans {
		if s.end == 0 || s.end > then {
			keep = append(keep, s)
		}
	}
	clear(g.spans[len(keep):])
	g.spans = keep
	g.pruned = len(keep)
}

// stack returns the frames of a handle, leaf first, nil if there are none.
func (f *follower) stack(h trace.Stack) []contention.Frame {
	if h == trace.NoStack {
		return nil
	}
	if frames, ok := f.handles[h]; ok {
		return frames
	}
	var frames []contention.Frame
	for fr := range h.Frames() {
		frames = append(frames, contention.Frame{Func: fr.Func, File: fr.File, Line: int(fr.Line), PC: fr.PC})
	}
	f.handles[h] = frames
	return frames
}
