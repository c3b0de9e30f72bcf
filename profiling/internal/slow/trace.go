package slow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	rtrace "runtime/trace"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/exp/trace"

	"github.com/mvccmap/mvccmap/internal/bench/machine"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/losses"
)

// markCategory is the category of the log events that marks are.
const markCategory = "slow operation"

// Mark notes in the execution trace, if one is being taken, that the calling goroutine ended the
// operation with number id and name op at end, which is just now, and how long the operation took.
// It costs less than a microsecond, next to nothing if there is no trace, and never blocks.
func Mark(id uint64, op string, took time.Duration, end time.Time) {
	if rtrace.IsEnabled() {
		rtrace.Log(context.Background(), markCategory,
			fmt.Sprint(id, " ", int64(time.Since(end)), " ", int64(took), " ", op))
	}
}

// A mark is a message of [Mark].
type mark struct {
	id        uint64
	ago, took time.Duration // for how long the operation had ended, and how long it took
	op        string
}

func parseMark(message string) (m mark, ok bool) {
	fields := strings.SplitN(message, " ", 4)
	if len(fields) < 4 {
		return m, false
	}
	var list [3]int64
	for i := range list {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return m, false
		}
		list[i] = max(n, 0)
	}
	ago, took := time.Duration(list[1]), time.Duration(list[2])
	return mark{uint64(list[0]), ago, took, fields[3]}, true
}

// slack is how much more than the length of the operation is remembered, because
// a mark may be late.
const slack = 50 * time.Millisecond

// ErrNoMark is the error of [FromTrace] if the trace does not have the mark: it ended before the
// mark, or began after it.
var ErrNoMark = errors.New("slow: the trace does not have the end of the operation")

// Others says which operations are summed up beside the one that is reported on: those with a mark
// above After. Operations that took no longer than Longest are summed up in full.
type Others struct {
	After   uint64
	Longest time.Duration
}

// FromTrace reports on the operation that ended with mark id after took, and returns the sums of it
// and of others, by name, and last, the highest of the marks. It reads the trace, which takes about
// 300 ns for each event, and remembers the spans of all goroutines for the length of the longest
// operation. m is the usage of the machine around the end. The error is [ErrNoMark], with whole
// sums, or says why the trace cannot be read.
func FromTrace(r io.Reader, id uint64, took time.Duration, m machine.Usage, others Others) (
	report *Report, tails []*Tail, last uint64, err error,
) {
	last = others.After
	var list []*Tail
	f := follower{
		machine:    m,
		took:       max(took, 1),
		memory:     trace.Time(max(took, others.Longest, 1) + slack),
		goroutines: map[trace.GoID]*goroutine{},
		lost:       map[trace.GoID][]Lost{},
	}
	f.Done, f.Gone, f.Passed = f.done, f.gone, f.passed
	err = f.Read(r, func(e trace.Event) bool {
		switch e.Kind() {
		case trace.EventLog:
			l := e.Log()
			if l.Category == losses.Category {
				f.lost[e.Goroutine()] = append(f.lost[e.Goroutine()], parseLost(e.Time(), l.Message))
			}
			if l.Category != markCategory {
				break
			}
			m, ok := parseMark(l.Message)
			if !ok {
				break
			}
			if m.id > others.After {
				list = append(list, f.tailOf(m.op, m.took, e.Goroutine(), m.ago))
				last = max(last, m.id)
			}
			if m.id == id {
				report = f.report(e.Goroutine(), m.ago)
			}
		case trace.EventMetric:
			if m := e.Metric(); m.Name == "/sched/gomaxprocs:threads" {
				f.procs = int(m.Value.Uint64())
			}
		}
		return true
	})
	if errors.Is(err, io.EOF) {
		err = nil
		if report == nil {
			err = ErrNoMark
		}
	}
	tails = Merge(list)
	for _, t := range tails {
		if m.Delayed {
			t.Delay, t.For = m.Delay, m.For
		}
	}
	return report, tails, last, err
}

// A span is a time in which a goroutine was in one state.
type span = contention.Step

// A follower knows the spans of every goroutine of late.
type follower struct {
	contention.Follower
	machine    machine.Usage
	took       time.Duration
	procs      int        // GOMAXPROCS, 0 if it is not known
	memory     trace.Time // how far back spans are remembered, at least
	forgot     trace.Time // when spans before that were forgotten
	goroutines map[trace.GoID]*goroutine
	ranges     []contention.Range // that have ended
	causes     int                // of how many operations causes were looked for
	lost       map[trace.GoID][]Lost
}

// A goroutine has the past of a goroutine.
type goroutine struct {
	spans []span
	last  *contention.Place // where it ended
	ended bool
}

// done remembers a span of a goroutine that has ended.
func (f *follower) done(id trace.GoID, s span) {
	f.forget()
	f.add(id, s)
}

func (f *follower) add(id trace.GoID, s span) {
	g := f.goroutines[id]
	if g == nil {
		g = new(goroutine)
		f.goroutines[id] = g
	}
	if s.State == trace.GoWaiting && s.Kind == "" {
		s.Kind = contention.Other
	}
	g.spans = append(g.spans, s)
}

// gone remembers where a goroutine ended.
func (f *follower) gone(id trace.GoID, at *contention.Place) {
	if g := f.goroutines[id]; g != nil {
		g.last, g.ended = at, true
	}
}

// passed remembers a range of the runtime that has ended.
func (f *follower) passed(r contention.Range) { f.ranges = append(f.ranges, r) }

// forget drops spans, ranges and losses that ended more than f.memory ago, once in that time.
func (f *follower) forget() {
	then := f.Now - f.memory
	if f.forgot > then {
		return
	}
	f.forgot = f.Now
	for id, g := range f.goroutines {
		g.spans = slices.DeleteFunc(g.spans, func(s span) bool { return s.End <= then })
		if g.ended && len(g.spans) == 0 {
			delete(f.goroutines, id)
		}
	}
	f.ranges = slices.DeleteFunc(f.ranges, func(r contention.Range) bool { return r.End <= then })
	for id, list := range f.lost {
		list = slices.DeleteFunc(list, func(l Lost) bool { return l.at <= then })
		if f.lost[id] = list; len(list) == 0 {
			delete(f.lost, id)
		}
	}
}

// stopped returns the place at which g stopped at the end of its i-th span or, if that is not
// known, the place at which it went on at the start of the span.
func (g *goroutine) stopped(i int) *contention.Place {
	switch {
	case i+1 < len(g.spans):
		return g.spans[i+1].At
	case g.last != nil:
		return g.last
	}
	return g.spans[i].At
}

// A doing is a key to sum up by: a kind of wait, and a line. The line of a goroutine that ran is
// not known.
type doing struct {
	kind contention.Kind
	fn   string
	line int
}

// doingOf returns the activity of a span, and its place.
func doingOf(s span) (doing, contention.Frame) {
	if s.State == trace.GoRunning || s.Kind == contention.Scheduler {
		return doing{kind: s.Kind}, contention.Frame{}
	}
	site := s.At.Site()
	return doing{s.Kind, site.Func, site.Line}, site
}

// doings sums up the activities of goroutines.
type doings map[doing]*doers

type doers struct {
	activity Activity
	who      map[trace.GoID]struct{}
}

func (l doings) add(key doing, id trace.GoID, at contention.Frame, d time.Duration) {
	e := l[key]
	if e == nil {
		a := Activity{Goroutine: int64(id), Kind: key.kind, Site: at}
		e = &doers{activity: a, who: map[trace.GoID]struct{}{}}
		l[key] = e
	}
	e.who[id] = struct{}{}
	e.activity.Total += d
	if key.kind == Running {
		e.activity.Unbroken = max(e.activity.Unbroken, d)
	}
	e.activity.Goroutine = min(e.activity.Goroutine, int64(id))
}

// most returns the longest activities of a time, but none of less than a hundredth
// of it.
func (l doings) most(during time.Duration) []Activity {
	var list []Activity
	for _, e := range l {
		e.activity.Goroutines = len(e.who)
		if e.activity.Total >= during/100 {
			list = append(list, e.activity)
		}
	}
	slices.SortFunc(list, func(a, b Activity) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), bySite(a.Kind, b.Kind, a.Site, b.Site))
	})
	return slices.Clip(list[:min(len(list), maxActivities)])
}

// processors says how many goroutines wanted processors during a window.
func (f *follower) processors(during window) *Processors {
	p := &Processors{Of: f.procs}
	var wanted, used, collector time.Duration
	for _, g := range f.goroutines {
		for i, s := range g.spans {
			if s.State != trace.GoRunning && s.State != trace.GoRunnable {
				continue
			}
			d := during.overlap(s.Start, s.End)
			if d == 0 {
				continue
			}
			wanted += d
			if s.State != trace.GoRunning {
				continue
			}
			used += d
			if slices.ContainsFunc(g.stopped(i).Frames(), contention.Frame.OfCollector) {
				collector += d
			}
		}
	}
	all := float64(during.end.Sub(during.start))
	p.Wanted, p.Used, p.Collector = float64(wanted)/all, float64(used)/all, float64(collector)/all
	return p
}
