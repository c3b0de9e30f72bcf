package cli

import (
	"cmp"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// intervalFlags say where the figures of intervals go.
type intervalFlags struct {
	Interval *time.Duration `help:"Time from one report of progress to the next, and of each interval of --hlog and of the figures over time that JSON and --report have. Default: 1s, and figures over time of samples of 5s and more only." placeholder:"TIME" group:"Measuring"`
	HLog     string         `name:"hlog" help:"Write a histogram of the response times of each --interval to FILE, as a log of HdrHistogram, tagged with the combination if there are several. A sample shorter than the interval has one." placeholder:"FILE" group:"Output"`
}

// checkLog checks that the file can be written. An error names the flag, and nothing has been
// touched.
func (f intervalFlags) checkLog() error {
	if f.HLog == "" {
		return nil
	}
	return cmp.Or(isNew("--hlog", f.HLog), canWrite("--hlog", f.HLog))
}

// openLog creates the file, for a watcher; nil if there is none.
func (f intervalFlags) openLog() (*watcher, error) {
	if f.HLog == "" {
		return nil, nil
	}
	file, err := os.Create(f.HLog)
	return &watcher{file: file}, writing("histogram log", err)
}

// A recent has the last two readings of how far a trial is.
type recent struct {
	trial       *bench.Trial
	before, now bench.Live
}

// read reads t, and reports whether a run of t has begun. It empties the reading before if that is
// of another run.
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

// longEnough is how long samples must be to have intervals of a second without being asked for:
// each reading slows a sample a little.
const longEnough = 5 * time.Second

// A watcher reads the trial that is being measured once in an interval, and at its end, for the log
// of histograms, if there is one, and for the record. It is an observer of the sweep. A nil watcher
// reads nothing.
type watcher struct {
	file *os.File // nil: there is no log
	log  *results.HistogramLog
	tags bool // it is of several combinations

	mu     sync.Mutex
	recent recent
	step   bench.Step
	trial  *bench.Trial // nil between the samples
	began  time.Time    // when its measured run did; zero if it has not been read yet
	list   results.Intervals
	err    error // of the log, the first

	stop chan struct{}
	done sync.WaitGroup
}

// begin starts reading once in an interval, of a run of one combination or of several.
func (w *watcher) begin(h results.Header, several bool, every time.Duration) {
	if w == nil {
		return
	}
	if w.file != nil {
		kind := "response times of the interval, from when each operation was due"
		if h.Loop == "closed" {
			kind = "times of the interval"
		}
		w.log = results.NewHistogramLog(w.file, time.Now(), fmt.Sprintf("%s, ns: %s", kind, h.Program))
	}
	w.tags, w.stop = several, make(chan struct{})
	w.done.Go(func() { ticks(every, w.stop, &w.mu, func() { w.read(0) }) })
}

// read keeps the operations of the trial since the last reading, but not those of a warm-up. took
// is the length of the run or, while the run goes on, zero. w.mu is held.
func (w *watcher) read(took time.Duration) {
	if w.trial == nil || !w.recent.read(w.trial) || !w.recent.now.Measured {
		return
	}
	now, before := &w.recent.now, &w.recent.before
	if took > 0 {
		now.Elapsed = took
	}
	if now.Elapsed <= before.Elapsed {
		return
	}
	if w.began.IsZero() {
		w.began = time.Now().Add(-now.Elapsed)
	}
	lately := now.Response.Since(before.Response)
	if w.log != nil {
		tag := ""
		if w.tags {
			tag = w.step.Config.Name()
		}
		w.err = cmp.Or(w.err, w.log.Interval(tag, w.began.Add(before.Elapsed),
			now.Elapsed-before.Elapsed, lately))
	}
	w.list = w.list.Add(intervalOf(now, before, lately))
}

// grown returns the growth of a count, 0 if it seems to have fallen: counts are read in parts.
func grown(now, before uint64) uint64 { return max(now, before) - before }

// intervalOf returns the operations between two readings; lately has their times.
func intervalOf(now, before *bench.Live, lately bench.Distribution) results.Interval {
	i := results.Interval{End: now.Elapsed, Ops: grown(now.Ops, before.Ops),
		Aborts: grown(now.Aborts, before.Aborts), Errors: grown(now.Errors, before.Errors)}
	for _, q := range []struct {
		q  float64
		to *int64
	}{{.5, &i.P50}, {.9, &i.P90}, {.99, &i.P99}} {
		if v, ok := lately.Quantile(q.q); ok {
			*q.to = int64(v)
		}
	}
	if lately.Count() > 0 {
		i.Max = int64(lately.Max())
	}
	return i
}

// Start implements [bench.Observer].
func (w *watcher) Start(step bench.Step, _ *bench.Step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step, w.trial, w.list = step, nil, nil
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

// take returns the intervals of the sample that has ended, nil if there are none.
func (w *watcher) take() results.Intervals {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.list.End()
	w.list = nil
	return list
}

// end ends the reading, closes the log and returns its first error.
func (w *watcher) end() error {
	if w == nil {
		return nil
	}
	close(w.stop)
	w.done.Wait()
	if w.file == nil {
		return nil
	}
	return writing("histogram log", cmp.Or(w.err, w.file.Close()))
}
