package slow

import (
	"cmp"
	"slices"
	"time"

	"golang.org/x/exp/trace"

	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

// handed has the kinds of wait for something that one goroutine passes to the next.
var handed = map[contention.Kind]bool{
	contention.Mutex: true, contention.RWMutex: true, contention.Cond: true, contention.Claim: true,
	contention.ChanSend: true, contention.ChanReceive: true, contention.Select: true,
}

// A turn is a time in which one goroutine had the thing that another waited for.
type turn struct {
	of   trace.GoID
	time window
}

// blame sets which goroutines let a wait last, and the cause. s is the longest span of the wait.
func (f *follower) blame(wait *Wait, s span, depth int) {
	wait.Waker = &Waker{Goroutine: int64(s.Waker), Site: s.WakerAt.Site(), Stack: s.WakerAt.Frames()}
	turns := f.turns(s, wait.during)
	if len(turns) == 0 {
		return
	}
	t := &Turns{Count: len(turns)}
	did := doings{}
	for _, turn := range turns {
		d := turn.time.end.Sub(turn.time.start)
		t.Total += d
		t.Longest = max(t.Longest, d)
		for s, d := range f.spansOf(turn) {
			key, site := doingOf(s)
			did.add(key, turn.of, site, d)
		}
	}
	t.Doing = did.most(t.Total)
	wait.Turns = t
	if depth > 0 && len(t.Doing) > 0 && t.Doing[0].Total > t.Total/2 {
		wait.Cause = f.cause(turns, t.Doing[0], depth-1)
	}
}

// cause sums up the waits that are the main activity, most, of goroutines in their turns. It
// returns nil if there are no such waits, or if no goroutine ended the longest of them.
func (f *follower) cause(turns []turn, most Activity, depth int) *Wait {
	wait := &Wait{Kind: most.Kind, Site: most.Site, Total: most.Total}
	var longest span
	for _, turn := range turns {
		for s, d := range f.spansOf(turn) {
			key, _ := doingOf(s)
			if s.State != trace.GoWaiting || key != (doing{most.Kind, most.Site.Func, most.Site.Line}) {
				continue
			}
			wait.Count++
			if d > wait.Max {
				longest, wait.Max, wait.Stack = s, d, s.At.Frames()
				wait.during = window{max(s.Start, turn.time.start), min(s.End, turn.time.end)}
			}
		}
	}
	if wait.Max == 0 || longest.Waker == trace.NoGoroutine {
		return nil
	}
	f.blame(wait, longest, depth)
	return wait
}

// turns returns the turns of the goroutines that had the thing for which s waited, the latest
// first. The latest is of the goroutine that ended s: it began when an earlier wait of that
// goroutine for the thing ended. The turn before is of the one that ended that wait, and so on.
func (f *follower) turns(s span, during window) (list []turn) {
	for f.goroutines[s.Waker] != nil && s.Waker != trace.NoGoroutine {
		t := turn{s.Waker, window{during.start, min(s.End, during.end)}}
		before, ok := f.before(s)
		ok = ok && handed[s.Kind]
		if ok {
			t.time.start = before.End
		}
		if t.time.end > t.time.start {
			list = append(list, t)
		}
		if !ok || before.End <= during.start {
			break
		}
		s = before
	}
	if n := len(list); n > 0 {
		list[n-1].time.start = max(list[n-1].time.start, during.start)
	}
	return list
}

// before returns the last wait for the same thing, before s ended, of the goroutine that ended s.
func (f *follower) before(s span) (span, bool) {
	spans := f.goroutines[s.Waker].spans
	i := endsFrom(spans, s.End)
	for i--; i >= 0; i-- {
		if t := spans[i]; t.State == trace.GoWaiting && sameThing(t, s) {
			return t, true
		}
	}
	return span{}, false
}

// endsFrom returns the index of the first of the spans that ends at the time or later.
func endsFrom(spans []span, at trace.Time) int {
	i, _ := slices.BinarySearchFunc(spans, at, func(s span, at trace.Time) int {
		return cmp.Compare(s.End, at)
	})
	return i
}

// sameThing reports whether two waits were for the same thing. A trace does not say which lock or
// channel it was, so lines are compared: those of the waits or, of a lock, those that released it.
func sameThing(a, b span) bool {
	same := func(a, b *contention.Place) bool {
		x, y := a.Site(), b.Site()
		return x.Func != "" && x.Func == y.Func && x.Line == y.Line
	}
	lock := a.Kind == contention.Mutex || a.Kind == contention.RWMutex
	return a.Kind == b.Kind && (same(a.At, b.At) || lock && same(a.WakerAt, b.WakerAt))
}

// spansOf calls yield with the spans of a goroutine in its turn, and their lengths within it.
func (f *follower) spansOf(t turn) func(yield func(s span, d time.Duration) bool) {
	return func(yield func(s span, d time.Duration) bool) {
		spans := f.goroutines[t.of].spans
		for _, s := range spans[endsFrom(spans, t.time.start):] {
			if s.Start >= t.time.end {
				return
			}
			if d := t.time.overlap(s.Start, s.End); d > 0 && !yield(s, d) {
				return
			}
		}
	}
}
