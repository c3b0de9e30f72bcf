package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/humanize"
)

// progress tells on standard error how far a command is: on a terminal in one line that is redrawn,
// elsewhere in lines that follow each other, the first at once and one an interval.
type progress struct {
	w        io.Writer
	terminal bool
	started  time.Time

	mu    sync.Mutex
	line  func(now time.Time) string // nil: there is nothing to be said
	said  bool                       // there is a line already
	drawn bool                       // it is on the terminal now

	stop  chan struct{}
	done  sync.WaitGroup
	close func() // ends the reports, once
}

// onScreen is the line that is being redrawn on the terminal, which other lines must not get into.
var onScreen atomic.Pointer[progress]

// statusOut returns where a command reports its progress.
func (e *Env) statusOut(quiet bool) io.Writer {
	if quiet {
		return io.Discard
	}
	return e.stderr
}

// newProgress starts reporting on w, once in an interval, unless that is [io.Discard].
func newProgress(w io.Writer, interval time.Duration) *progress {
	p := &progress{w: w, terminal: isTerminal(w), started: time.Now(), stop: make(chan struct{})}
	p.close = sync.OnceFunc(func() {
		onScreen.CompareAndSwap(p, nil)
		close(p.stop)
		p.done.Wait()
		p.aside(func() {})
	})
	if w == io.Discard {
		return p
	}
	if p.terminal {
		onScreen.Store(p)
	}
	p.done.Go(func() { ticks(interval, p.stop, &p.mu, p.show) })
	return p
}

// ticks calls f with mu held, once in an interval, until stop is closed.
func ticks(interval time.Duration, stop <-chan struct{}, mu *sync.Mutex, f func()) {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			mu.Lock()
			f()
			mu.Unlock()
		}
	}
}

// set changes the function that returns the line; it is called with p.mu held.
func (p *progress) set(line func(now time.Time) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line = line
	if p.terminal || !p.said {
		p.show()
	}
}

// show prints or redraws the line. p.mu is held.
func (p *progress) show() {
	switch {
	case p.line == nil:
		return
	case p.terminal: // without wrapping, since a second row would not be taken away again
		fmt.Fprint(p.w, "\r\x1b[K\x1b[?7l", p.line(time.Now()), "\x1b[?7h")
		p.drawn = true
	default:
		fmt.Fprintln(p.w, p.line(time.Now()))
	}
	p.said = true
}

// aside runs f, which may print, with the redrawn line out of the way.
func (p *progress) aside(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
	f()
}

// note prints a remark, on a line of its own.
func (p *progress) note(format string, args ...any) {
	p.aside(func() { fmt.Fprintf(p.w, format+"\n", args...) })
}

// isTerminal reports whether w is a terminal that can move its cursor.
func isTerminal(w io.Writer) bool { return os.Getenv("TERM") != "dumb" && isScreen(w) }

// isScreen reports whether w is a terminal, of any kind.
func isScreen(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, ok = ttyColumns(f)
	return ok
}

// anyWidth is the width of a file, not a terminal: lines may be as long as they
// like.
const anyWidth = 0

// terminalWidth returns how many columns a line on w has, as COLUMNS says or, if it says nothing,
// as the terminal does. It is anyWidth if w is no terminal, or one that does not tell.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return anyWidth
	}
	width, ok := ttyColumns(f)
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); ok && err == nil && n > 0 {
		return n
	}
	return width
}

// position returns words: which of several samples is under way, and how long it and later ones
// take. The first sample began at started, the one under way at begun.
func position(started, begun, now time.Time, done, of int) string {
	left := ""
	if done > 0 {
		left = fmt.Sprintf(", %s left", remaining(started, begun, now, done, of))
	}
	return fmt.Sprintf("[%*d/%d%s] ", len(fmt.Sprint(of)), done+1, of, left)
}

// remaining estimates the time until the end of all steps, by the time that the steps before the
// one under way took. It is 0 if there are none. The first step began at started, the one under way
// at begun. The estimate does not grow while a step is under way, however long the step takes.
func remaining(started, begun, now time.Time, done, of int) time.Duration {
	if done == 0 {
		return 0
	}
	each := begun.Sub(started) / time.Duration(done)
	passed := min(now.Sub(begun), each) // of the step under way
	return (each*time.Duration(of-done) - passed).Round(time.Second)
}

// sweepProgress tells which sample is being taken, and how fast it is. It is an observer of a sweep.
type sweepProgress struct {
	*progress

	// Under its lock.
	trial   *bench.Trial // nil while the map is being filled
	liveAt  time.Time
	liveOps uint64
}

// newSweepProgress starts reporting on w.
func newSweepProgress(w io.Writer, interval time.Duration) *sweepProgress {
	return &sweepProgress{progress: newProgress(w, interval)}
}

// Start implements [bench.Observer].
func (p *sweepProgress) Start(step bench.Step, _ *bench.Step) {
	begun := time.Now()
	p.run(nil)
	p.set(func(now time.Time) string {
		line := position(p.started, begun, now, step.Index, step.Of) + stepName(step)
		if ops, ok := p.rate(now); ok {
			line += fmt.Sprintf(", %s ops/s", humanize.Number(ops))
		}
		return line
	})
}

// Running implements [bench.Observer].
func (p *sweepProgress) Running(_ bench.Step, t *bench.Trial) { p.run(t) }

// Done implements [bench.Observer].
func (p *sweepProgress) Done(bench.Step, bench.Measurement) error {
	p.run(nil)
	return nil
}

func (p *sweepProgress) run(t *bench.Trial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trial, p.liveAt, p.liveOps = t, time.Now(), 0
}

// rate returns the operations per second since the last call of rate, or since the run under way
// began. p.mu is held.
func (p *sweepProgress) rate(now time.Time) (float64, bool) {
	if p.trial == nil {
		return 0, false
	}
	elapsed, ops := p.trial.Elapsed(), p.trial.Live() // in this order: of another run there are few
	d, before := now.Sub(p.liveAt), p.liveOps
	p.liveAt, p.liveOps = now, ops
	if elapsed < d {
		d, before = elapsed, 0
	}
	if ops <= before || d <= 0 {
		return 0, false
	}
	return float64(ops-before) / d.Seconds(), true
}

// stepName names a step within the sweep.
func stepName(s bench.Step) string {
	parts := []string{s.Config.Workload.Name}
	for _, l := range s.Config.Labels() { // of all that is not the default, or varied
		if l.Key != "engine" && l.Key != "threads" {
			parts = append(parts, l.Key+" "+l.Value)
		}
	}
	return fmt.Sprintf("%s, %s, %s, sample %d", strings.Join(parts, " "), s.Config.Engine.Name,
		threads(s.Config.Threads), s.Config.Sample+1)
}

func threads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}
