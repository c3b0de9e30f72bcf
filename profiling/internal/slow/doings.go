package slow

import (
	"cmp"
	"slices"
	"time"

	"golang.org/x/exp/trace"

	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

// A doing is a key to sum up by: a kind of wait, and a line. The line of a goroutine that ran is
// not known.
type doing struct {
	kind contention.Kind
	fn   string
	line int
}

// doingOf says what a goroutine did, and where.
func doingOf(s span) (doing, contention.Frame) {
	if s.State == trace.GoRunning || s.Kind == contention.Scheduler {
		return doing{kind: s.Kind}, contention.Frame{}
	}
	site := s.At.Site()
	return doing{s.Kind, site.Func, site.Line}, site
}

// doings sums up what goroutines did.
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
