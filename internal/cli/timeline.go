package cli

import (
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/results"
)

// A timeline takes the intervals of each sample, for its record. A nil one takes none. It is an
// observer of the sweep.
type timeline struct {
	*watcher
	list results.Intervals // of the sample; under the watcher's mu
}

// longEnough is how long samples must be for intervals of a second, if none were asked for: to read
// what a sample did costs it a little.
const longEnough = 5 * time.Second

// newTimeline takes intervals of samples that take so long, 0 if that is not known, at that
// distance if it is not nil.
func newTimeline(every *time.Duration, sample time.Duration) *timeline {
	if every == nil && sample < longEnough {
		return nil
	}
	t := new(timeline)
	t.watcher = newWatcher(max(given(every, time.Second), sample/results.MaxIntervals), t.add)
	return t
}

// add takes an interval; the watcher calls it.
func (t *timeline) add(_ bench.Step, i interval) {
	count := func(of func(*bench.Live) uint64) uint64 {
		now, before := of(i.now), of(i.before)
		return max(now, before) - before
	}
	one := results.Interval{End: i.now.Elapsed, Ops: count(liveOps), Aborts: count(liveAborts),
		Errors: count(liveErrors)}
	for _, q := range []struct {
		q  float64
		to *int64
	}{{.5, &one.P50}, {.9, &one.P90}, {.99, &one.P99}} {
		if v, ok := i.lately.Quantile(q.q); ok {
			*q.to = int64(v)
		}
	}
	if i.lately.Count() > 0 {
		one.Max = int64(i.lately.Max())
	}
	t.list = t.list.Add(one)
}

// Start implements [bench.Observer].
func (t *timeline) Start(step bench.Step, next *bench.Step) {
	t.watcher.Start(step, next)
	t.take()
}

// take returns the intervals of the sample that has ended, nil if there are none.
func (t *timeline) take() results.Intervals {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.list.End()
	t.list = nil
	return list
}

// end ends it.
func (t *timeline) end() {
	if t != nil {
		t.watcher.close()
	}
}
