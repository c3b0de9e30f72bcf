package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/results"
)

// intervalFlags say where the figures of intervals go.
type intervalFlags struct {
	Interval *time.Duration `help:"While a sample runs, print a line of its figures once in TIME: throughput, response times of the interval, aborts, errors, context switches. Records and --report have them over time; those of samples of 5s and more in any case, once in a second." placeholder:"TIME" group:"Measuring"`
	Events   string         `help:"Write what happens to FILE as it happens, for programs such as those of a CI: a JSON object a line, whose \"event\" is begin, start (of a sample), interval (its figures once in --interval, or 1s, and at its end), sample, try and found (of --find-rate), threshold, or end." placeholder:"FILE" group:"Output"`
	HLog     string         `name:"hlog" help:"Write a histogram of the response times of each --interval, or 1s, to FILE, as a log of HdrHistogram, tagged with the combination if there are several. What took less than the interval has one." placeholder:"FILE" group:"Output"`
}

// An event is a line of --events. Its fields but for the first two are of some events only.
type event struct {
	Event string    `json:"event"`
	Time  time.Time `json:"time"`

	Header *results.Header `json:"header,omitempty"`  // begin
	Of     int             `json:"of,omitempty"`      // begin, start: samples; of a search a guess
	Step   int             `json:"step,omitempty"`    // start, interval: from 1
	Name   string          `json:"name,omitempty"`    // start, interval, sample: the combination
	Number int             `json:"sample,omitempty"`  // start, interval: of the combination, from 1
	Figure *figures        `json:"figures,omitempty"` // interval

	Result *results.Sample `json:"result,omitempty"` // sample, without histograms

	Try       *results.RateTry   `json:"try,omitempty"`
	Found     *results.FoundRate `json:"found,omitempty"`
	Threshold *thresholdEvent    `json:"threshold,omitempty"`
	Outcome   *results.Outcome   `json:"outcome,omitempty"` // end
}

// figures are those of an interval.
type figures struct {
	Elapsed float64          `json:"elapsed_s"`  // of the sample
	Seconds float64          `json:"interval_s"` // of the interval
	Ops     float64          `json:"ops/s"`
	Aborts  float64          `json:"aborts/s"`
	Errors  float64          `json:"errors/s"`
	Kind    string           `json:"kind"`  // of the times: service or response
	Timed   uint64           `json:"timed"` // operations that were
	Times   map[string]int64 `json:"times_ns,omitempty"`
}

// A thresholdEvent is what became of a limit.
type thresholdEvent struct {
	Limit string   `json:"limit"`
	Of    string   `json:"of"`
	Value *float64 `json:"value,omitempty"` // nil: it is not known
	Kept  bool     `json:"kept"`
}

// An intervalLog writes --events and --hlog. A nil one writes nothing. It is an observer of the
// sweep, and its methods may be called by any goroutine.
type intervalLog struct {
	watcher *watcher
	events  *os.File
	hlog    *os.File
	log     *results.HistogramLog
	tags    bool

	mu  sync.Mutex
	err error // the first
}

// checkLogs checks that the files can be written. An error names the flag, and nothing has been
// touched.
func (f intervalFlags) checkLogs(overwrite bool) error {
	for _, file := range []struct{ flag, name string }{{"--events", f.Events}, {"--hlog", f.HLog}} {
		fi, err := os.Stat(file.name)
		if file.name == "" || err == nil && !fi.Mode().IsRegular() && !fi.IsDir() { // such as a pipe
			continue
		}
		if err := isNew(file.flag, file.name, overwrite); err != nil {
			return err
		}
		if err := canWrite(file.flag, file.name); err != nil {
			return err
		}
	}
	if f.Events != "" && f.Events == f.HLog {
		return usagef("--hlog: expected another file than that of --events")
	}
	return nil
}

// openLogs creates the files; nil if there are none.
func (f intervalFlags) openLogs() (l *intervalLog, err error) {
	if f.Events == "" && f.HLog == "" {
		return nil, nil
	}
	l = new(intervalLog)
	for _, file := range []struct {
		what, name string
		to         **os.File
	}{{"events", f.Events, &l.events}, {"histogram log", f.HLog, &l.hlog}} {
		if file.name != "" {
			if *file.to, err = os.Create(file.name); err != nil {
				return nil, writing(file.what, err)
			}
		}
	}
	return l, nil
}

// begin starts writing of a run of so many samples, of one or of several combinations.
func (l *intervalLog) begin(h results.Header, of int, several bool, every time.Duration) {
	if l == nil {
		return
	}
	l.tags = several
	if l.hlog != nil {
		kind := "response times of the interval, from when each operation was due"
		if h.Loop == "closed" {
			kind = "times of the interval"
		}
		l.log = results.NewHistogramLog(l.hlog, time.Now(), fmt.Sprintf("%s, ns: %s", kind, h.Program))
	}
	l.write(event{Event: "begin", Header: &h, Of: of})
	l.watcher = newWatcher(every, l.interval)
}

// write writes an event, now.
func (l *intervalLog) write(e event) {
	if l == nil || l.events == nil {
		return
	}
	e.Time = time.Now().UTC()
	line, err := json.Marshal(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		_, err = l.events.Write(append(line, '\n'))
	}
	l.fail("events", err)
}

// fail keeps an error. l.mu is held.
func (l *intervalLog) fail(what string, err error) { l.err = cmp.Or(l.err, writing(what, err)) }

// combination names what a step is a sample of.
func combination(step bench.Step) string { return step.Config.Name() }

// interval writes what has happened in an interval.
func (l *intervalLog) interval(step bench.Step, i interval) {
	if l.log != nil {
		tag := ""
		if l.tags {
			tag = combination(step)
		}
		err := l.log.Interval(tag, i.from, i.span, i.lately)
		l.mu.Lock()
		l.fail("histogram log", err)
		l.mu.Unlock()
	}
	f := &figures{Elapsed: i.now.Elapsed.Seconds(), Seconds: i.span.Seconds(),
		Ops: i.perSecond(liveOps), Aborts: i.perSecond(liveAborts), Errors: i.perSecond(liveErrors),
		Kind: results.Service, Timed: i.lately.Count(), Times: map[string]int64{}}
	if step.Config.Rate > 0 {
		f.Kind = results.Response
	}
	for _, q := range []struct {
		name string
		q    float64
	}{{"p50", .5}, {"p90", .9}, {"p99", .99}, {"p99.9", .999}} {
		if v, ok := i.lately.Quantile(q.q); ok {
			f.Times[q.name] = int64(v)
		}
	}
	if f.Timed > 0 {
		f.Times["max"] = int64(i.lately.Max())
	}
	l.write(event{Event: "interval", Step: step.Index + 1, Name: combination(step),
		Number: step.Config.Sample + 1, Figure: f})
}

// Start implements [bench.Observer].
func (l *intervalLog) Start(step bench.Step, next *bench.Step) {
	l.watcher.Start(step, next)
	l.write(event{Event: "start", Step: step.Index + 1, Of: step.Of, Name: combination(step),
		Number: step.Config.Sample + 1})
}

// Running implements [bench.Observer].
func (l *intervalLog) Running(step bench.Step, t *bench.Trial) { l.watcher.Running(step, t) }

// Done implements [bench.Observer].
func (l *intervalLog) Done(step bench.Step, m bench.Measurement) error {
	return l.watcher.Done(step, m)
}

// sample writes a sample that has been verified.
func (l *intervalLog) sample(s results.Sample) {
	if l == nil {
		return
	}
	s.Latency, s.Intervals = nil, nil
	l.write(event{Event: "sample", Name: s.Name(1), Result: &s})
}

// threshold writes what became of a limit.
func (l *intervalLog) threshold(k results.Check) {
	e := &thresholdEvent{Limit: k.Limit.String(), Of: k.Of, Kept: k.Kept}
	if k.Known {
		e.Value = &k.Median
	}
	l.write(event{Event: "threshold", Threshold: e})
}

// end writes how the run has ended, closes the files, and returns the first error.
func (l *intervalLog) end(o results.Outcome) error {
	if l == nil {
		return nil
	}
	l.watcher.close()
	l.write(event{Event: "end", Outcome: &o})
	for what, file := range map[string]*os.File{"events": l.events, "histogram log": l.hlog} {
		if file != nil {
			l.fail(what, file.Close())
		}
	}
	return l.err
}
