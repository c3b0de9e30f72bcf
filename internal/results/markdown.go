package results

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"
)

// WriteMarkdown writes rows, the first of which is the header, as a table in
// Markdown whose columns are aligned, so that it can be read as it is, too: to the
// left or, like figures, to the right. All rows are as long as the header.
func WriteMarkdown(w io.Writer, rows [][]string, left func(column int) bool) error {
	widths := make([]int, len(rows[0]))
	clean := make([][]string, len(rows))
	for i, row := range rows {
		for c, text := range row {
			text = strings.ReplaceAll(oneLine(text), "|", `\|`)
			clean[i] = append(clean[i], text)
			widths[c] = max(widths[c], utf8.RuneCountInString(text), 3)
		}
	}
	b := bufio.NewWriter(w)
	for i, row := range clean {
		for c, text := range row {
			gap := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(text))
			if !left(c) {
				text, gap = gap, text
			}
			b.WriteString("| " + text + gap + " ")
		}
		b.WriteString("|\n")
		if i > 0 {
			continue
		}
		for c, width := range widths {
			rule := strings.Repeat("-", width+2)
			if !left(c) {
				rule = rule[1:] + ":"
			}
			b.WriteString("|" + rule)
		}
		b.WriteString("|\n")
	}
	return b.Flush()
}
