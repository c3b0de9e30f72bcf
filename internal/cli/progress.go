package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/brief"
)

// progress tells on standard error what is running, what is next and how long it
// will take: on a terminal in one line that is redrawn, elsewhere in lines that
// follow each other. With a table of intervals its lines come on top of that, on
// a terminal above the one that is redrawn, elsewhere instead of it. Nothing is
// written more often than once an interval while a sample is being measured, so
// as not to disturb it.
type progress struct {
	w        io.Writer
	terminal bool
	colour   bool
	interval time.Duration
	perStep  time.Duration // what a step takes, until experience tells; 0 if nobody knows
	table    *intervals    // nil if there is none

	mu      sync.Mutex
	started time.Time
	printed time.Time // when a line was last printed, if not on a terminal
	step    bench.Step
	next    *bench.Step
	trial   *bench.Trial // nil while the map is being filled
	liveAt  time.Time
	liveOps uint64
	drawn   bool // there is a line to be redrawn

	stop chan struct{}
	done sync.WaitGroup
}

// newProgress starts reporting on w; a nil progress reports nothing.
func newProgress(w io.Writer, interval, perStep time.Duration, table bool) *progress {
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
	if table {
		p.table = &intervals{fine: interval < time.Second}
	}
	p.done.Go(p.tick)
	return p
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
			p.row(0)
			if p.terminal || p.table == nil {
				p.report(time.Now())
			}
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
	p.step, p.next, p.trial = step, next, nil
	if p.table != nil {
		p.table.start()
	}
	if p.terminal || p.printed.IsZero() || p.table != nil {
		p.report(time.Now())
	}
}

// running says that the step has a map, and whom to ask how far it is.
func (p *progress) running(t *bench.Trial) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trial, p.liveAt, p.liveOps = t, time.Now(), 0
}

// ended says that the step is over and took m.
func (p *progress) ended(m bench.Measurement) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// What came after the last line has one of its own, unless it is too little.
	if p.table != nil && p.trial != nil && (p.table.rows == 0 || m.Wall-p.table.before.Elapsed > p.interval/2) {
		p.row(m.Wall)
	}
	p.trial = nil
}

// row prints the next line of the table of intervals, if there is one. The step
// has ended after elapsed, unless that is zero. p.mu is held.
func (p *progress) row(elapsed time.Duration) {
	if p.table == nil || p.trial == nil {
		return
	}
	line, ok := p.table.next(p.trial, elapsed)
	if !ok {
		return
	}
	p.clear()
	if p.table.rows == 1 {
		if p.terminal { // elsewhere it has been said
			fmt.Fprintln(p.w, stepName(p.step))
		}
		for head := range strings.SplitSeq(p.table.header(p.step.Config.Rate > 0), "\n") {
			fmt.Fprintln(p.w, p.dim(head))
		}
	}
	fmt.Fprintln(p.w, line)
}

// dim makes what is less important look so, if there are colours.
func (p *progress) dim(text string) string {
	if !p.colour {
		return text
	}
	return "\x1b[2m" + text + "\x1b[m"
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
	fmt.Fprintf(&b, "[%*d/%d", len(fmt.Sprint(s.Of)), s.Index+1, s.Of)
	// At the beginning, since the end may be beyond the terminal's edge.
	if left, ok := p.left(now); ok {
		fmt.Fprintf(&b, ", %s left", left)
	}
	fmt.Fprintf(&b, "] %s", stepName(s))
	if ops, ok := p.rate(now); ok {
		fmt.Fprintf(&b, ", %s ops/s", brief.Number(ops))
	}
	rest := "; last one"
	if p.next != nil {
		rest = "; next " + difference(s, *p.next)
	}
	return b.String() + p.dim(rest)
}

// stepName names a step within the sweep.
func stepName(s bench.Step) string {
	return fmt.Sprintf("%s, %s, %s, sample %d", strings.Join(append([]string{s.Config.Workload.Name}, variant(s.Config)...), " "),
		s.Config.Engine.Name, threads(s.Config.Threads), s.Config.Sample+1)
}

// variant names what is not the default, or varied, but for engine and threads.
func variant(c bench.Config) []string {
	var list []string
	for _, l := range c.Labels() {
		if l.Key != "engine" && l.Key != "threads" {
			list = append(list, l.Key+" "+l.Value)
		}
	}
	return list
}

func threads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// difference names of next only what is not as in s.
func difference(s, next bench.Step) string {
	if s.Config.Workload.Name != next.Config.Workload.Name {
		return next.Config.Workload.Name
	}
	var list []string
	if s.Config.Threads != next.Config.Threads {
		list = append(list, threads(next.Config.Threads))
	}
	now := variant(s.Config)
	for _, v := range variant(next.Config) {
		if !slices.Contains(now, v) {
			list = append(list, v)
		}
	}
	if s.Config.Engine.Name != next.Config.Engine.Name {
		list = append(list, next.Config.Engine.Name)
	}
	if len(list) == 0 {
		return fmt.Sprintf("sample %d", next.Config.Sample+1)
	}
	return strings.Join(list, ", ")
}

// rate returns the operations per second since it was last asked. p.mu is held.
func (p *progress) rate(now time.Time) (float64, bool) {
	if p.trial == nil {
		return 0, false
	}
	ops := p.trial.Live()
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
func (p *progress) left(now time.Time) (left time.Duration, ok bool) {
	perStep := p.perStep
	if p.step.Index > 0 {
		perStep = now.Sub(p.started) / time.Duration(p.step.Index)
	}
	total := perStep * time.Duration(p.step.Of)
	return max(total-now.Sub(p.started), 0).Round(time.Second), perStep > 0
}

// note prints a remark, on lines of its own.
func (p *progress) note(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	remark(p.w, format, args...)
}

// remark prints a remark: on a terminal in lines that fit, elsewhere in one.
func remark(w io.Writer, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if width := terminalWidth(w); width != anyWidth {
		(&textWriter{w: w, width: width}).wrap("", "  ", text)
		return
	}
	fmt.Fprintln(w, text)
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
