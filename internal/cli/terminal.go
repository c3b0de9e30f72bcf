package cli

import (
	"io"
	"os"
	"strconv"
)

// isTerminal reports whether w is a terminal that can move its cursor.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	_, ok = ttyColumns(f)
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
	width, ok := ttyColumns(f)
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); ok && err == nil && n > 0 {
		return n
	}
	return width
}
