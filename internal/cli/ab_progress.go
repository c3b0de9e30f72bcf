package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/mvccmap/mvccmap/bench"
)

// abProgress tells which sample of which side is being taken.
type abProgress struct {
	*statusLine

	// Under the line's lock.
	line  string
	begun time.Time // when the first sample was
	done  int       // samples so far
	of    int
}

// newABProgress starts reporting on w.
func newABProgress(w io.Writer) *abProgress {
	p := &abProgress{statusLine: newStatusLine(w)}
	p.every(time.Second, func() {
		if p.terminal || p.of > 0 { // that something is being built is said once
			p.report()
		}
	})
	return p
}

// building says that a side is being built.
func (p *abProgress) building(s *abSide) {
	what := "the work tree in " + s.module
	if s.commit != "" {
		what = fmt.Sprintf("%s (%.12s)", s.label, s.commit)
	}
	p.say(fmt.Sprintf("building %s: %s", s.side, what), 0, 0)
}

// sample says that a sample is being taken.
func (p *abProgress) sample(done, of int, step bench.Step, side string) {
	p.say(stepName(step)+", "+side, done, of)
}

func (p *abProgress) say(line string, done, of int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line, p.done, p.of = line, done, of
	if of > 0 && p.begun.IsZero() {
		p.begun = time.Now()
	}
	if p.terminal || done == 0 {
		p.report()
	}
}

// report says what is running. p.mu is held.
func (p *abProgress) report() {
	if p.line == "" {
		return
	}
	head := ""
	if p.of > 0 {
		head = fmt.Sprintf("[%*d/%d", len(fmt.Sprint(p.of)), p.done+1, p.of)
		if p.done > 0 {
			each := time.Since(p.begun) / time.Duration(p.done)
			head += fmt.Sprintf(", %s left", (each * time.Duration(p.of-p.done)).Round(time.Second))
		}
		head += "] "
	}
	p.show(head + p.line)
}
