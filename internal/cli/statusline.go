package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// statusLine tells on standard error how far a command is: on a terminal in one line that is
// redrawn, elsewhere in lines that follow each other.
type statusLine struct {
	w        io.Writer
	terminal bool
	colour   bool
	started  time.Time

	mu    sync.Mutex
	drawn bool // there is a line to be redrawn

	stop chan struct{}
	done sync.WaitGroup
}

// newStatusLine returns a line on w; on a nil one nothing is ever said.
func newStatusLine(w io.Writer) *statusLine {
	s := &statusLine{w: w, started: time.Now(), stop: make(chan struct{})}
	if w == nil {
		s.w = io.Discard
	}
	s.terminal = isTerminal(s.w)
	s.colour = s.terminal && os.Getenv("NO_COLOR") == ""
	return s
}

// every calls report once in an interval, with s.mu held, unless nothing is ever said.
func (s *statusLine) every(interval time.Duration, report func()) {
	if s.w == io.Discard {
		return
	}
	s.done.Go(func() {
		t := time.NewTicker(interval)
		defer t.Stop()
		for {
			select {
			case <-s.stop:
				return
			case <-t.C:
				s.mu.Lock()
				report()
				s.mu.Unlock()
			}
		}
	})
}

// dim makes what is less important look so, if there are colours.
func (s *statusLine) dim(text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[2m" + text + "\x1b[m"
}

// show prints or redraws the line. s.mu is held.
func (s *statusLine) show(line string) {
	if !s.terminal {
		fmt.Fprintln(s.w, line)
		return
	}
	// Without wrapping: a second row would not be taken away again.
	fmt.Fprintf(s.w, "\r\x1b[K\x1b[?7l%s\x1b[?7h", line)
	s.drawn = true
}

// clear takes the redrawn line away. s.mu is held.
func (s *statusLine) clear() {
	if s.drawn {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.drawn = false
	}
}

// aside runs f, which may print, with the redrawn line out of the way.
func (s *statusLine) aside(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	f()
}

// note prints a remark, on lines of its own.
func (s *statusLine) note(format string, args ...any) {
	s.aside(func() { remark(s.w, format, args...) })
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

// close ends the reports.
func (s *statusLine) close() {
	close(s.stop)
	s.done.Wait()
	s.aside(func() {})
}
