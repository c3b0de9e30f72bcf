package results

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"
)

// gap is between two columns of [WriteTable].
const gap = "  "

// Width returns how wide [WriteTable] writes rows.
func Width(rows [][]string) int {
	n := -len(gap)
	for _, w := range widths(rows) {
		n += w + len(gap)
	}
	return n
}

// widths returns how wide the columns of a table are. All rows are as long as the first.
func widths(rows [][]string) []int {
	list := make([]int, len(rows[0]))
	for _, row := range rows {
		for c, text := range row {
			list[c] = max(list[c], utf8.RuneCountInString(text))
		}
	}
	return list
}

// WriteTable writes rows with their columns aligned: to the left or, like figures, to the right.
// All rows are as long as the first.
func WriteTable(w io.Writer, rows [][]string, left func(column int) bool) error {
	b := bufio.NewWriter(w)
	columns := widths(rows)
	for _, row := range rows {
		line := strings.Join(aligned(row, columns, left), gap)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.Flush()
}

// WriteMarkdown writes the same in Markdown. The first row is the header.
func WriteMarkdown(w io.Writer, rows [][]string, left func(column int) bool) error {
	clean := make([][]string, len(rows))
	for i, row := range rows {
		for _, text := range row {
			clean[i] = append(clean[i], strings.ReplaceAll(oneLine(text), "|", `\|`))
		}
	}
	b := bufio.NewWriter(w)
	columns := widths(clean)
	rules := make([]string, len(columns))
	for c := range columns {
		columns[c] = max(columns[c], 3)
		rules[c] = strings.Repeat("-", columns[c]+2)
		if !left(c) {
			rules[c] = rules[c][1:] + ":"
		}
	}
	for i, row := range clean {
		b.WriteString("| " + strings.Join(aligned(row, columns, left), " | ") + " |\n")
		if i == 0 {
			b.WriteString("|" + strings.Join(rules, "|") + "|\n")
		}
	}
	return b.Flush()
}

// aligned returns the texts of a row, filled up to the widths of their columns.
func aligned(row []string, widths []int, left func(column int) bool) []string {
	list := make([]string, len(row))
	for c, text := range row {
		fill := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(text))
		if left(c) {
			list[c] = text + fill
		} else {
			list[c] = fill + text
		}
	}
	return list
}
