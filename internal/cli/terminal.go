package cli

import (
	"io"
	"os"
	"strconv"
)

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
