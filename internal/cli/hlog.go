package cli

import (
	"cmp"
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
	HLog     string         `name:"hlog" help:"Write a histogram of the response times of each --interval, or 1s, to FILE, as a log of HdrHistogram, tagged with the combination if there are several. A sample shorter than the interval has one." placeholder:"FILE" group:"Output"`
}

// An intervalLog writes --hlog. A nil one writes nothing. It is an observer of the sweep.
type intervalLog struct {
	*watcher
	file *os.File
	log  *results.HistogramLog
	tags bool

	mu  sync.Mutex
	err error // the first
}

// checkLog checks that the file can be written. An error names the flag, and nothing has been
// touched.
func (f intervalFlags) checkLog(overwrite bool) error {
	fi, err := os.Stat(f.HLog)
	if f.HLog == "" || err == nil && !fi.Mode().IsRegular() && !fi.IsDir() { // such as a pipe
		return nil
	}
	return cmp.Or(isNew("--hlog", f.HLog, overwrite), canWrite("--hlog", f.HLog))
}

// openLog creates the file; nil if there is none.
func (f intervalFlags) openLog() (*intervalLog, error) {
	if f.HLog == "" {
		return nil, nil
	}
	file, err := os.Create(f.HLog)
	return &intervalLog{file: file}, writing("histogram log", err)
}

// begin starts writing of a run of one combination, or of several.
func (l *intervalLog) begin(h results.Header, several bool, every time.Duration) {
	if l == nil {
		return
	}
	l.tags = several
	kind := "response times of the interval, from when each operation was due"
	if h.Loop == "closed" {
		kind = "times of the interval"
	}
	l.log = results.NewHistogramLog(l.file, time.Now(), fmt.Sprintf("%s, ns: %s", kind, h.Program))
	l.watcher = newWatcher(every, l.interval)
}

// interval writes the times of an interval.
func (l *intervalLog) interval(step bench.Step, i interval) {
	tag := ""
	if l.tags {
		tag = step.Config.Name()
	}
	err := l.log.Interval(tag, i.from, i.span, i.lately)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = cmp.Or(l.err, err)
}

// end closes the file, and returns the first error.
func (l *intervalLog) end() error {
	if l == nil {
		return nil
	}
	l.watcher.close()
	return writing("histogram log", cmp.Or(l.err, l.file.Close()))
}
