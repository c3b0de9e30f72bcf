package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/brief"
)

// progress tells what is running, what is next and how long it will take. With a table of
// intervals its lines come on top of that, on a terminal above the one that is redrawn,
// elsewhere instead of it. Nothing is written more often than once an interval while a sample
// is being measured, so as not to disturb it. It is an observer of the sweep.
type progress struct {
	*statusLine
	interval time.Duration
	perStep  time.Duration // what a step takes, until experience tells; 0 if nobody knows
	table    *intervals    // nil if there is none

	// a table to be drawn above the line; nil if there is none
	standings func(width, height int) []string

	// Under the line's lock.
	printed bool // there is a line already
	step    bench.Step
	begun   time.Time // when the step was
	next    *bench.Step
	trial   *bench.Trial // nil while the map is being filled
	liveAt  time.Time
	liveOps uint64
}

// newProgress starts reporting on w. If interval is 0 there is no table.
func newProgress(w io.Writer, interval, perStep time.Duration) *progress {
	p := &progress{
		statusLine: newStatusLine(w), interval: cmp.Or(interval, time.Second), perStep: perStep,
	}
	if interval > 0 {
		p.table = &intervals{fine: interval < time.Second}
	}
	p.every(p.interval, func() {
		p.row(0)
		if p.terminal || p.table == nil {
			p.report(time.Now())
		}
	})
	return p
}

// Start implements [bench.Observer].
func (p *progress) Start(step bench.Step, next *bench.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step, p.begun, p.next, p.trial = step, time.Now(), next, nil
	if p.table != nil {
		p.table.rows = 0
	}
	if p.terminal || !p.printed || p.table != nil {
		p.report(time.Now())
	}
}

// Running implements [bench.Observer].
func (p *progress) Running(_ bench.Step, t *bench.Trial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trial, p.liveAt, p.liveOps = t, time.Now(), 0
}

// Done implements [bench.Observer].
func (p *progress) Done(_ bench.Step, m bench.Measurement) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	// What came after the last line has one of its own, unless it is too little.
	if p.table != nil && p.trial != nil &&
		(p.table.rows == 0 || m.Wall-p.table.now.Elapsed > p.interval/2) {
		p.row(m.Wall)
	}
	p.trial = nil
	return nil
}

// locked calls f, which changes what is drawn.
func (p *progress) locked(f func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return f()
}

// row prints the next line of the table of intervals, if there is one. The step
// has ended after elapsed, unless that is zero. p.mu is held.
func (p *progress) row(elapsed time.Duration) {
	if p.table == nil || p.trial == nil {
		return
	}
	line, ok := p.table.line(p.trial, elapsed)
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

// report says what is running. p.mu is held.
func (p *progress) report(now time.Time) {
	s := p.step
	if s.Of == 0 {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[%*d/%d", len(fmt.Sprint(s.Of)), s.Index+1, s.Of)
	// At the beginning, since the end may be beyond the terminal's edge.
	if left, ok := remaining(p.started, p.begun, now, s.Index, s.Of, p.perStep); ok {
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
	var table []string
	if p.standings != nil && p.terminal {
		table = p.standings(cmp.Or(terminalWidth(p.w), 80), terminalHeight(p.w)-2)
	}
	p.show(b.String()+p.dim(rest), table...)
	p.printed = true
}

// rate returns the operations per second since it was last asked, or since the run under way has
// begun. p.mu is held.
func (p *progress) rate(now time.Time) (float64, bool) {
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

// remaining estimates the time until the end of steps, the next of which began at begun: by what those
// before it took since started or, before there are any, by a guess, unless that is 0. It does not
// grow while a step is under way, however long that takes.
func remaining(
	started, begun, now time.Time, done, of int, guess time.Duration,
) (left time.Duration, ok bool) {
	each := guess
	if done > 0 {
		each = begun.Sub(started) / time.Duration(done)
	}
	passed := min(now.Sub(begun), each) // of the step under way
	return (each*time.Duration(of-done) - passed).Round(time.Second), each > 0
}

// stepName names a step within the sweep.
func stepName(s bench.Step) string {
	return fmt.Sprintf("%s, %s, %s, sample %d", strings.Join(append([]string{s.Config.Workload.Name},
		variant(s.Config)...), " "),
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
