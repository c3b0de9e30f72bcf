package results

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"
)

// Plain writes tables as text. The first row is the header; all rows are equally long.
var Plain plain

type plain struct{}

// gap is between two columns.
const gap = "  "

// Width returns how wide rows are in a table.
func Width(rows [][]string) int {
	n := -len(gap)
	for _, w := range widths(rows) {
		n += w + len(gap)
	}
	return n
}

// widths returns how wide the columns of rows are.
func widths(rows [][]string) []int {
	list := make([]int, len(rows[0]))
	for _, row := range rows {
		for c, text := range row {
			list[c] = max(list[c], utf8.RuneCountInString(text))
		}
	}
	return list
}

// Write writes a table with aligned columns: to the left or, like figures, to the right.
func (plain) Write(w io.Writer, rows [][]string, left func(column int) bool) error {
	b := bufio.NewWriter(w)
	columns := widths(rows)
	for _, row := range rows {
		texts := make([]string, len(row))
		for c, text := range row {
			fill := strings.Repeat(" ", columns[c]-utf8.RuneCountInString(text))
			if texts[c] = text + fill; !left(c) {
				texts[c] = fill + text
			}
		}
		b.WriteString(strings.TrimRight(strings.Join(texts, gap), " ") + "\n")
	}
	return b.Flush()
}
