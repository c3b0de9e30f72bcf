package slow

import (
	"cmp"
	"slices"
	"time"

	"golang.org/x/exp/trace"

	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

// A window is a part of the trace.
type window struct{ start, end trace.Time }

// overlap returns for how long a span was within w.
func (w window) overlap(start, end trace.Time) time.Duration {
	return max(min(end, w.end).Sub(max(start, w.start)), 0)
}

// How much a report tells of each list.
const (
	maxWaits      = 20
	maxActivities = 3
	maxDepth      = 4 // of locks that are held while another is waited for
)

// report explains the operation that goroutine id has ended; ago is the time from its end to now.
func (f *follower) report(id trace.GoID, ago time.Duration) *Report {
	defer f.endAll()()
	end := max(f.Now-trace.Time(ago), f.First)
	w := window{end - trace.Time(f.took), end}
	r := &Report{
		Goroutine: int64(id),
		End:       end.Sub(f.First),
		Took:      f.took,
		Seen:      f.took,
		Machine:   f.machine,
	}
	if w.start < f.First {
		w.start = f.First
		r.Seen = w.end.Sub(w.start)
	}
	if g := f.goroutines[id]; g != nil {
		f.explain(r, g, w)
	}
	for _, s := range f.ranges {
		part := window{max(s.Start, w.start), min(s.End, w.end)}
		switch {
		case part.end <= part.start:
		case s.Name == contention.MarkRange:
			r.Marking += part.end.Sub(part.start)
		case s.Name == contention.AssistRange:
			if s.Of == id {
				r.Assist += f.running(id, part)
			}
		default:
			r.Stopped += part.end.Sub(part.start)
			why := s.Name[len(contention.StopRange) : len(s.Name)-1]
			if !slices.Contains(r.Stops, why) {
				r.Stops = append(r.Stops, why)
			}
		}
	}
	if m := r.Machine; m.Known && m.Most > 0 {
		// Most is the share that GOMAXPROCS is of all processors, or 1 if there are fewer.
		r.Used = time.Duration(m.Process / m.Most * float64(f.procs) * float64(m.For))
	}
	r.Lost = f.lostIn(id, w)
	r.Running -= r.Assist
	r.Unknown = r.Seen - r.Running - r.Assist - r.Runnable - r.Waiting - r.Syscall
	if len(r.Waits) > 0 {
		if top := &r.Waits[0]; top.Root().Kind == contention.Scheduler {
			r.Processors = f.processors(top.during)
			r.Processors.stopped = r.Stopped > r.Seen/2
		}
	}
	r.Verdict = r.verdict()
	return r
}

// endAll ends all open spans and ranges, as of now. The returned function undoes this, so that more
// of the trace can be read.
func (f *follower) endAll() (undo func()) {
	ranges, known := f.ranges, map[*goroutine]int{}
	for id, s := range f.Open {
		if g := f.goroutines[id]; g != nil {
			known[g] = len(g.spans)
		}
		s.End = f.Now
		f.add(id, s)
	}
	for _, s := range f.Ranges {
		s.End = f.Now
		f.ranges = append(f.ranges, s)
	}
	return func() {
		f.ranges = ranges
		for id := range f.Open {
			g := f.goroutines[id]
			if n, ok := known[g]; ok {
				g.spans = g.spans[:n]
			} else {
				delete(f.goroutines, id)
			}
		}
	}
}

// running returns for how long a goroutine ran. An assist counts only while it runs.
func (f *follower) running(id trace.GoID, w window) (d time.Duration) {
	if g := f.goroutines[id]; g != nil {
		for _, s := range g.spans {
			if s.State == trace.GoRunning {
				d += w.overlap(s.Start, s.End)
			}
		}
	}
	return d
}

// explain sums up the spans of g within w.
func (f *follower) explain(r *Report, g *goroutine, w window) {
	waits := map[doing]*Wait{}
	longest := map[doing]span{}
	for _, s := range g.spans {
		d := w.overlap(s.Start, s.End)
		if d == 0 {
			continue
		}
		switch s.State {
		case trace.GoRunning:
			r.Running += d
			r.Unbroken = max(r.Unbroken, d)
			continue
		case trace.GoRunnable:
			r.Runnable += d
		case trace.GoSyscall:
			r.Syscall += d
		default:
			r.Waiting += d
		}
		k, _ := doingOf(s)
		wait := waits[k]
		if wait == nil {
			wait = &Wait{Kind: s.Kind}
			waits[k] = wait
		}
		wait.Count++
		wait.Total += d
		if d > wait.Max {
			wait.Max, wait.Site, wait.Stack = d, s.At.Site(), s.At.Frames()
			longest[k] = s
		}
	}
	r.Waits = []Wait{}
	for k, wait := range waits {
		s := longest[k]
		wait.during = window{max(s.Start, w.start), min(s.End, w.end)}
		switch {
		case s.Kind == contention.Scheduler:
			wait.Others = f.ran(wait.during)
		case s.State == trace.GoWaiting:
			f.blame(wait, s, maxDepth)
		}
		r.Waits = append(r.Waits, *wait)
	}
	slices.SortFunc(r.Waits, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), bySite(a.Kind, b.Kind, a.Site, b.Site))
	})
	r.Waits = slices.Clip(r.Waits[:min(len(r.Waits), maxWaits)])
}

// bySite compares waits by kind and line.
func bySite(k, l contention.Kind, a, b contention.Frame) int {
	return cmp.Or(cmp.Compare(k, l), cmp.Compare(a.Func, b.Func), cmp.Compare(a.Line, b.Line))
}

// ran returns which functions ran for most of a window.
func (f *follower) ran(during window) []Activity {
	ran := doings{}
	for id, g := range f.goroutines {
		for i, s := range g.spans {
			d := during.overlap(s.Start, s.End)
			if s.State != trace.GoRunning || d == 0 {
				continue
			}
			site := g.stopped(i).Site()
			ran.add(doing{fn: site.Func}, id, site, d)
		}
	}
	return ran.most(during.end.Sub(during.start))
}
