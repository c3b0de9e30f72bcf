package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/bench"
)

// progress tells on standard error what is running, what is next and how long it
// will take: on a terminal in one line that is redrawn, elsewhere in lines that
// follow each other. Nothing is redrawn more often than once an interval while a
// sample is being measured, so as not to disturb it.
type progress struct {
	w        io.Writer
	terminal bool
	colour   bool
	interval time.Duration
	perStep  time.Duration // what a step takes, until experience tells

	mu      sync.Mutex
	started time.Time
	printed time.Time // when a line was last printed, if not on a terminal
	step    bench.Step
	next    *bench.Step
	live    func() uint64
	liveAt  time.Time
	liveOps uint64
	drawn   bool // there is a line to be redrawn

	stop chan struct{}
	done sync.WaitGroup
}

// newProgress starts reporting on w; a nil progress reports nothing.
func newProgress(w io.Writer, interval, perStep time.Duration) *progress {
	terminal := isTerminal(w)
	p := &progress{
		w:        w,
		terminal: terminal,
		colour:   terminal && os.Getenv("NO_COLOR") == "",
		interval: interval,
		perStep:  perStep,
		started:  time.Now(),
		stop:     make(chan struct{}),
	}
	p.done.Go(p.tick)
	return p
}

// isTerminal reports whether w is a terminal that can move its cursor.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	fi, err := f.Stat()
	return err == nil && fi.Mode()&os.ModeCharDevice != 0
}

func (p *progress) tick() {
	t := time.NewTicker(p.interval)
	defer t.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-t.C:
			p.mu.Lock()
			p.report(time.Now())
			p.mu.Unlock()
		}
	}
}

// start says that step is about to run.
func (p *progress) start(step bench.Step, next *bench.Step) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step, p.next, p.live = step, next, nil
	if p.terminal || p.printed.IsZero() {
		p.report(time.Now())
	}
}

// running says that the step has a map, and how to ask for its operations.
func (p *progress) running(live func() uint64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live, p.liveAt, p.liveOps = live, time.Now(), 0
}

// report prints or redraws the line. p.mu is held.
func (p *progress) report(now time.Time) {
	if p.step.Of == 0 {
		return
	}
	line := p.line(now)
	if p.terminal {
		// Without wrapping: a second row would not be taken away again.
		fmt.Fprintf(p.w, "\r\x1b[K\x1b[?7l%s\x1b[?7h", line)
		p.drawn = true
		return
	}
	fmt.Fprintln(p.w, line)
	p.printed = now
}

// line says what is running. p.mu is held.
func (p *progress) line(now time.Time) string {
	s := p.step
	var b strings.Builder
	fmt.Fprintf(&b, "[%*d/%d] %s", len(fmt.Sprint(s.Of)), s.Index+1, s.Of, stepName(s))
	if ops, ok := p.rate(now); ok {
		fmt.Fprintf(&b, ", %s ops/s", short(ops))
	}
	rest := "; last one"
	if p.next != nil {
		rest = "; next " + difference(s, *p.next)
	}
	rest += fmt.Sprintf("; %s left", p.left(now))
	if p.colour {
		rest = "\x1b[2m" + rest + "\x1b[m"
	}
	return b.String() + rest
}

// stepName names a step within the sweep.
func stepName(s bench.Step) string {
	return fmt.Sprintf("%s, %s, %s, sample %d", s.Config.Workload.Name, s.Config.Engine.Name, threads(s.Config.Threads), s.Config.Sample+1)
}

func threads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// difference names of next only what is not as in s.
func difference(s, next bench.Step) string {
	switch {
	case s.Config.Workload.Name != next.Config.Workload.Name:
		return next.Config.Workload.Name
	case s.Config.Threads != next.Config.Threads:
		return threads(next.Config.Threads)
	case s.Config.Engine.Name != next.Config.Engine.Name:
		return next.Config.Engine.Name
	}
	return fmt.Sprintf("sample %d", next.Config.Sample+1)
}

// rate returns the operations per second since it was last asked. p.mu is held.
func (p *progress) rate(now time.Time) (float64, bool) {
	if p.live == nil {
		return 0, false
	}
	ops := p.live()
	d := now.Sub(p.liveAt).Seconds()
	before := p.liveOps
	p.liveAt, p.liveOps = now, ops
	if ops <= before || d <= 0 { // a new run has started from zero
		return 0, false
	}
	return float64(ops-before) / d, true
}

// left estimates the time until the end: by what the steps took so far, once
// there are some. p.mu is held.
func (p *progress) left(now time.Time) time.Duration {
	perStep := p.perStep
	if p.step.Index > 0 {
		perStep = now.Sub(p.started) / time.Duration(p.step.Index)
	}
	total := perStep * time.Duration(p.step.Of)
	return max(total-now.Sub(p.started), 0).Round(time.Second)
}

// note prints a line of its own.
func (p *progress) note(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// clear takes the redrawn line away. p.mu is held.
func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

// close ends the reports.
func (p *progress) close() {
	if p == nil {
		return
	}
	close(p.stop)
	p.done.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// short writes a large number with a prefix, in at most five characters.
func short(v float64) string {
	for _, u := range []struct {
		factor float64
		prefix string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= u.factor*0.9995 {
			return three(v/u.factor) + u.prefix
		}
	}
	return three(v)
}

// three writes v with three significant digits.
func three(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
