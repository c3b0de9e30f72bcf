package cli

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// statusLine tells on standard error how far a command is: on a terminal in one line that is
// redrawn, and maybe a table above it, elsewhere in lines that follow each other.
type statusLine struct {
	w        io.Writer
	terminal bool
	colour   bool
	started  time.Time

	columns func() int // of the terminal, anyWidth if it does not tell
	reflows bool       // it wraps lines anew when it becomes narrower

	mu    sync.Mutex
	drawn []int // the lines that are to be redrawn: how wide each was drawn
	width int   // columns of the terminal then

	stop chan struct{}
	done sync.WaitGroup
}

// onScreen is the line that is being redrawn on the terminal, which other lines must not get into.
var onScreen atomic.Pointer[statusLine]

// newStatusLine returns a line on w.
func newStatusLine(w io.Writer) *statusLine {
	return &statusLine{
		w: w, terminal: isTerminal(w), colour: hasColour(w),
		columns: func() int { return terminalWidth(w) },
		reflows: os.Getenv("XTERM_VERSION") == "", // of the common ones xterm alone cuts lines off
		started: time.Now(), stop: make(chan struct{}),
	}
}

// said returns where a command reports its progress.
func (e *Env) said(quiet bool) io.Writer {
	if quiet {
		return io.Discard
	}
	return e.stderr
}

// every calls report once in an interval, with s.mu held, unless it is discarded.
func (s *statusLine) every(interval time.Duration, report func()) {
	if s.w == io.Discard {
		return
	}
	if s.terminal {
		onScreen.Store(s)
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
	return "\x1b[2m" + text + reset
}

// show prints or redraws the line, on a terminal below a table. s.mu is held.
func (s *statusLine) show(line string, table ...string) {
	if !s.terminal {
		fmt.Fprintln(s.w, line)
		return
	}
	// At once and each line over the old one, so that nothing flickers; without wrapping, since a
	// second row would not be taken away again.
	var b strings.Builder
	rows := s.rows()
	b.WriteString(top(rows) + "\x1b[K\x1b[?7l")
	for _, row := range table {
		b.WriteString(row + "\r\n\x1b[K")
	}
	b.WriteString(line + "\x1b[?7h")
	if rows > len(table)+1 {
		b.WriteString("\x1b[J")
	}
	_, _ = io.WriteString(s.w, b.String())
	s.drawn, s.width = s.drawn[:0], s.columns()
	for _, row := range append(table[:len(table):len(table)], line) {
		n := utf8.RuneCountInString(styles.ReplaceAllString(row, ""))
		if s.width != anyWidth {
			n = min(n, s.width)
		}
		s.drawn = append(s.drawn, n)
	}
}

// styles are what is in a line beside its characters.
var styles = regexp.MustCompile("\x1b\\[[0-9;]*m")

// rows returns how many rows of the terminal the redrawn lines take: one each, or more if it has
// become narrower since, and has wrapped them. s.mu is held.
func (s *statusLine) rows() (n int) {
	columns := s.columns()
	for _, width := range s.drawn {
		if n++; s.reflows && columns != anyWidth && columns < s.width {
			n += max(width-1, 0) / columns
		}
	}
	return n
}

// top returns what leads to the beginning of so many rows from the end of the last one.
func top(rows int) string {
	if rows > 1 {
		return fmt.Sprintf("\r\x1b[%dA", rows-1)
	}
	return "\r"
}

// clear takes the redrawn lines away. s.mu is held.
func (s *statusLine) clear() {
	if rows := s.rows(); rows > 0 {
		// Line by line: terminals keep what is erased as a whole.
		text := top(rows) + "\x1b[K" + strings.Repeat("\r\n\x1b[K", rows-1) + top(rows)
		_, _ = io.WriteString(s.w, strings.TrimSuffix(text, "\r"))
		s.drawn = s.drawn[:0]
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
	onScreen.CompareAndSwap(s, nil)
	close(s.stop)
	s.done.Wait()
	s.aside(func() {})
}

// isTerminal reports whether w is a terminal that can move its cursor.
func isTerminal(w io.Writer) bool { return os.Getenv("TERM") != "dumb" && isScreen(w) }

// hasColour reports whether w is a terminal that is to have colours.
func hasColour(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }

// What begins and ends a colour.
const (
	green = "\x1b[32m"
	red   = "\x1b[31m"
	reset = "\x1b[m"
)

// isScreen reports whether w is a terminal, of any kind.
func isScreen(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, _, ok = ttySize(f)
	return ok
}

// anyWidth is the width of what is not a terminal: lines may be as long as they
// like.
const anyWidth = 0

// terminalWidth returns how many columns a line on w has: those that COLUMNS
// says or, if it says nothing, those of the terminal. It is anyWidth if w is no
// terminal, or one that does not tell.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return anyWidth
	}
	width, _, ok := ttySize(f)
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); ok && err == nil && n > 0 {
		return n
	}
	return width
}

// terminalHeight returns how many rows the terminal w has, 24 if it does not tell.
func terminalHeight(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if _, rows, _ := ttySize(f); rows > 0 {
			return rows
		}
	}
	return 24
}
