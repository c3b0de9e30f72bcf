package results

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Form is how a table is written. The first of its rows is the header; the others are as long.
type Form int

// The forms.
const (
	Plain Form = iota
	Markdown
)

// gap is between two columns of a plain table.
const gap = "  "

// Width returns how wide rows are in a plain table.
func Width(rows [][]string) int {
	n := -len(gap)
	for _, w := range widths(rows, 0) {
		n += w + len(gap)
	}
	return n
}

// widths returns how wide the columns of rows are, at least.
func widths(rows [][]string, least int) []int {
	list := slices.Repeat([]int{least}, len(rows[0]))
	for _, row := range rows {
		for c, text := range row {
			list[c] = max(list[c], utf8.RuneCountInString(text))
		}
	}
	return list
}

// Write writes a table. To be read, it has aligned columns: to the left or, like figures, to the
// right.
func (f Form) Write(w io.Writer, rows [][]string, left func(column int) bool) error {
	begin, between, end, least := "", gap, "", 0
	if f == Markdown {
		begin, between, end, least = "| ", " | ", " |", 3
		clean := make([][]string, len(rows))
		for i, row := range rows {
			for _, text := range row {
				clean[i] = append(clean[i], strings.ReplaceAll(oneLine(text), "|", `\|`))
			}
		}
		rows = clean
	}
	b := bufio.NewWriter(w)
	columns := widths(rows, least)
	for i, row := range rows {
		texts, rules := make([]string, len(row)), make([]string, len(row))
		for c, text := range row {
			fill := strings.Repeat(" ", columns[c]-utf8.RuneCountInString(text))
			texts[c], rules[c] = text+fill, strings.Repeat("-", columns[c]+2)
			if !left(c) {
				texts[c], rules[c] = fill+text, rules[c][1:]+":"
			}
		}
		line := begin + strings.Join(texts, between) + end
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		if i == 0 && f == Markdown {
			b.WriteString("|" + strings.Join(rules, "|") + "|\n")
		}
	}
	return b.Flush()
}
