package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/internal/results"
)

// intervals makes the lines of --interval: how a sample goes on, each with what
// happened since the line before.
type intervals struct {
	recent
	rows int  // of the sample
	fine bool // they are less than a second apart
}

// A recent is how far a trial was when it was last read, and before that.
type recent struct {
	trial       *bench.Trial
	before, now bench.Live
}

// read reads t, and reports whether it says anything. What was before is nothing unless it is
// of the same run.
func (r *recent) read(t *bench.Trial) bool {
	r.before, r.now = r.now, r.before
	ok := t.ReadLive(&r.now)
	if !ok || r.trial != t || r.now.Run != r.before.Run {
		r.before = bench.Live{}
	}
	r.trial = t
	if !ok {
		r.trial = nil
	}
	return ok
}

// An interval is what a trial has done since it was last read.
type interval struct {
	now    *bench.Live
	before *bench.Live
	from   time.Time // when it began, if a watcher says so
	span   time.Duration
	lately bench.Distribution // response times of the interval
}

// next returns what t has done since the last one; ok is false if there is nothing to be said, as
// during the warm-up. The run has taken so long, or, if took is zero, is still running.
func (r *recent) next(t *bench.Trial, took time.Duration) (i interval, ok bool) {
	if !r.read(t) || !r.now.Measured {
		return i, false
	}
	if took > 0 {
		r.now.Elapsed = took
	}
	i = interval{now: &r.now, before: &r.before, span: r.now.Elapsed - r.before.Elapsed}
	if i.span <= 0 {
		return i, false
	}
	i.lately = r.now.Response.Since(r.before.Response)
	return i, true
}

// perSecond returns how fast a count has grown.
func (i interval) perSecond(count func(*bench.Live) uint64) float64 {
	now, before := count(i.now), count(i.before)
	if now <= before {
		return 0
	}
	return float64(now-before) / i.span.Seconds()
}

func liveOps(l *bench.Live) uint64      { return l.Ops }
func liveAborts(l *bench.Live) uint64   { return l.Aborts }
func liveErrors(l *bench.Live) uint64   { return l.Errors }
func liveSwitches(l *bench.Live) uint64 { return l.Switches }

// intervalQuantiles are the columns of quantiles, of the interval.
var intervalQuantiles = []float64{0.5, 0.9, 0.99, 0.999}

// columns are the widths of the table, which fits into 80 columns.
var columns = []int{5, 7, 6, 8, 7, 7, 7, 7, 7, 6, 6}

// header returns the two lines above the first row of a sample.
func (t *intervals) header(open bool) string {
	kind := "service time of the interval "
	if open {
		kind = "response time of the interval "
	}
	kind += strings.Repeat("-", 35-len(kind)) // above five columns
	return "       ops/s -----   " + kind + "  per second -----\n" +
		row([]string{"time", "recent", "avg", "p50", "p90", "p99", "p99.9", "max", "aborts", "errs",
			"ctxsw"})
}

// row returns one line of the table.
func row(cells []string) string {
	var b strings.Builder
	for i, text := range cells {
		fmt.Fprintf(&b, "%*s", columns[i], text)
	}
	return b.String()
}

// line returns the line of what t has done since the last one; see [recent.next].
func (t *intervals) line(trial *bench.Trial, took time.Duration) (line string, ok bool) {
	i, ok := t.next(trial, took)
	if !ok {
		return "", false
	}
	perSecond := func(count func(*bench.Live) uint64) string {
		if v := i.perSecond(count); v > 0 {
			return brief.Number(v)
		}
		return "0"
	}
	cells := []string{seconds(i.now.Elapsed, t.fine), perSecond(liveOps),
		brief.Number(float64(i.now.Ops) / i.now.Elapsed.Seconds())}
	for _, q := range intervalQuantiles {
		text := "-"
		if v, ok := i.lately.Quantile(q); ok {
			text = tiny(v)
		}
		cells = append(cells, text)
	}
	longest, switches := "-", "-"
	if i.lately.Count() > 0 {
		longest = tiny(i.lately.Max())
	}
	if i.now.Switches > 0 {
		switches = perSecond(liveSwitches)
	}
	cells = append(cells, longest, perSecond(liveAborts), perSecond(liveErrors), switches)
	t.rows++
	return row(cells), true
}

// tiny writes a time with three significant digits in at most five characters, if
// it is below a thousand seconds.
func tiny(d time.Duration) string {
	if d >= 99_950*time.Millisecond {
		return seconds(d, false)
	}
	return strings.NewReplacer(" ms", "m", " µs", "µ", " ns", "n", " ", "").Replace(brief.Time(d))
}

// seconds writes how long a sample has run, if fine to a hundredth.
func seconds(d time.Duration, fine bool) string {
	switch {
	case d >= 100*time.Second:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case fine && d < 9_995*time.Millisecond:
		return fmt.Sprintf("%.2fs", d.Seconds())
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}

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

// A watcher reads the trial that is being measured once in an interval, and at its end, and hands
// on what it has done meanwhile. It is an observer of the sweep.
type watcher struct {
	told func(step bench.Step, i interval) // with mu held

	mu     sync.Mutex
	recent recent
	step   bench.Step
	trial  *bench.Trial // nil between the samples
	began  time.Time    // when its measured run did; zero if it has not been read yet
	stop   chan struct{}
	done   sync.WaitGroup
}

// newWatcher starts reading once in an interval.
func newWatcher(every time.Duration, told func(step bench.Step, i interval)) *watcher {
	w := &watcher{told: told, stop: make(chan struct{})}
	w.done.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-w.stop:
				return
			case <-t.C:
				w.mu.Lock()
				w.read(0)
				w.mu.Unlock()
			}
		}
	})
	return w
}

// read hands on what the trial has done, if there is one. It took so long or, if took is zero, is
// still running. w.mu is held.
func (w *watcher) read(took time.Duration) {
	if w.trial == nil {
		return
	}
	i, ok := w.recent.next(w.trial, took)
	if !ok {
		return
	}
	if w.began.IsZero() {
		w.began = time.Now().Add(-i.now.Elapsed)
	}
	i.from = w.began.Add(i.before.Elapsed)
	w.told(w.step, i)
}

// Start implements [bench.Observer].
func (w *watcher) Start(step bench.Step, _ *bench.Step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step, w.trial = step, nil
}

// Running implements [bench.Observer].
func (w *watcher) Running(_ bench.Step, t *bench.Trial) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trial, w.began = t, time.Time{}
}

// Done implements [bench.Observer].
func (w *watcher) Done(_ bench.Step, m bench.Measurement) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read(m.Wall)
	w.trial = nil
	return nil
}

// close ends the reading.
func (w *watcher) close() {
	close(w.stop)
	w.done.Wait()
}
