package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/internal/soak"
)

// verifyProgress tells on standard error which round is running: on a terminal in
// one line that is redrawn, elsewhere in a line now and then. A nil one tells
// nothing.
type verifyProgress struct {
	w        io.Writer
	terminal bool
	colour   bool
	duration time.Duration
	started  time.Time

	mu    sync.Mutex
	round soak.Round
	so    soak.Totals
	drawn bool // there is a line to be redrawn

	stop chan struct{}
	done sync.WaitGroup
}

func newVerifyProgress(w io.Writer, interval, duration time.Duration) *verifyProgress {
	terminal := isTerminal(w)
	p := &verifyProgress{
		w:        w,
		terminal: terminal,
		colour:   terminal && os.Getenv("NO_COLOR") == "",
		duration: duration,
		started:  time.Now(),
		stop:     make(chan struct{}),
	}
	p.done.Go(func() {
		t := time.NewTicker(interval)
		defer t.Stop()
		for {
			select {
			case <-p.stop:
				return
			case <-t.C:
				p.mu.Lock()
				p.report()
				p.mu.Unlock()
			}
		}
	})
	return p
}

// start says that a round begins, and what was checked before it.
func (p *verifyProgress) start(r soak.Round, so soak.Totals) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.round, p.so = r, so
	if p.terminal || r.Number == 1 {
		p.report()
	}
}

// report prints or redraws the line. p.mu is held.
func (p *verifyProgress) report() {
	if p.round.Number == 0 {
		return
	}
	elapsed := time.Since(p.started).Truncate(time.Second)
	line := fmt.Sprintf("[%v/%v] %s transactions checked", elapsed, p.duration, brief.Count(p.so.Transactions))
	if n := p.so.Violations; n > 0 {
		line += fmt.Sprintf(", %d rounds VIOLATED", n)
	}
	rest := "; " + p.round.String()
	if p.colour {
		rest = "\x1b[2m" + rest + "\x1b[m"
	}
	line += rest
	if p.terminal {
		// Without wrapping: a second row would not be taken away again.
		fmt.Fprintf(p.w, "\r\x1b[K\x1b[?7l%s\x1b[?7h", line)
		p.drawn = true
		return
	}
	fmt.Fprintln(p.w, line)
}

// note prints a line of its own.
func (p *verifyProgress) note(format string, args ...any) {
	if p != nil {
		p.aside(func() { fmt.Fprintf(p.w, format+"\n", args...) })
	}
}

// aside runs f, which may print, with the line that is redrawn out of the way.
func (p *verifyProgress) aside(f func()) {
	if p == nil {
		f()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
	f()
}

// close ends the reports.
func (p *verifyProgress) close() {
	if p == nil {
		return
	}
	close(p.stop)
	p.done.Wait()
	p.aside(func() {})
}
