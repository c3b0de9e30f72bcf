package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mvccmap/mvccmap/internal/results"
)

// column is a column of figures in the table of medians.
type column struct {
	head string
	unit string
	show func(v float64) string
	room int // which is left out first for lack of room: the lowest
}

// medianColumns are the figures of the table of medians. Those that no sample has
// are left out.
var medianColumns = []column{
	{"ns/op", "ns/op", rounded("ns/op"), 2},
	{"p50", "p50-ns", shortTime, 0},
	{"p99", "p99-ns", shortTime, 5},
	{"p99.9", "p99.9-ns", shortTime, 3},
	{"resp p99", results.ResponsePrefix + "p99-ns", shortTime, 6},
	{"achieved %", "achieved-%", rounded("achieved-%"), 6},
	{"aborts/op", "aborts/op", rounded("aborts/op"), 4},
	{"err/s", "err/s", rounded("err/s"), 6},
	{"allocs/op", "allocs/op", rounded("allocs/op"), 1},
}

func rounded(unit string) func(float64) string {
	m, _ := results.MetricByUnit(unit)
	return m.Format
}

// writeRunTable writes a run for people: what was measured on what, the medians,
// and how it ended.
func writeRunTable(w io.Writer, r *results.Run) error {
	var b strings.Builder
	for _, line := range results.Describe(r.Header) {
		fmt.Fprintln(&b, line)
	}
	h := r.Header
	fmt.Fprintf(&b, "%s/%s %s\n", h.GOOS, h.GOARCH, h.CPU)
	if err := writeMedians(&b, r, anyWidth); err != nil {
		return err
	}
	if mark := r.Mark(); mark != "" {
		fmt.Fprintf(&b, "\nNOTE: %s\n", mark)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeMedians writes the medians as a table that is at most so wide, unless width
// is anyWidth. The first engine of each workload and number of threads is what the
// others are compared with.
func writeMedians(w io.Writer, r *results.Run, width int) error {
	cells := r.Cells()
	if len(cells) == 0 {
		return nil
	}
	columns := slices.DeleteFunc(slices.Clone(medianColumns), func(c column) bool {
		return !slices.ContainsFunc(cells, func(cell *results.Cell) bool { return len(cell.Values(c.unit)) > 0 })
	})
	fits := func(rows [][]string) bool { return width == anyWidth || tableWidth(rows) <= width }
	rows := medianRows(cells, columns)
	// Where there is little room the workloads have lines of their own, and
	// if that is not enough, the rest has to be looked up.
	var titles []string
	var left []string
	for !fits(rows) && (titles == nil || len(columns) > 0) {
		if titles != nil {
			least := slices.MinFunc(columns, func(a, b column) int { return cmp.Compare(a.room, b.room) })
			columns = slices.DeleteFunc(columns, func(c column) bool { return c.unit == least.unit })
			left = append(left, least.head)
		}
		rows = medianRows(cells, columns)
		titles = nil
		for _, row := range rows {
			titles = append(titles, row[0])
			row[0] = ""
		}
	}
	var b strings.Builder
	text := &textWriter{w: &b, width: width}
	text.line("")
	text.line("Medians; ± is half the distance between the smallest and the largest sample:")
	var lines strings.Builder
	writeTable(&lines, rows, func(column int) bool { return column == 0 || column == 2 })
	i := 0
	for line := range strings.Lines(lines.String()) {
		if i > 0 && titles != nil && titles[i] != "" {
			text.line(titles[i])
		}
		b.WriteString(line)
		i++
	}
	if len(left) > 0 {
		text.line(fmt.Sprintf("For %s this terminal is too narrow; the results have them.", strings.Join(left, ", ")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// medianRows returns the rows of the table of medians, of which the first is the
// header.
func medianRows(cells []*results.Cell, columns []column) [][]string {
	head := []string{"workload", "threads", "engine", "ops/s", "±"}
	for _, c := range columns {
		head = append(head, c.head)
	}
	rows := [][]string{append(head, "vs first")}
	var first *results.Cell
	for _, c := range cells {
		ops := c.Values("ops/s")
		if len(ops) == 0 {
			continue
		}
		title, threads, against := "", "", ""
		switch {
		case first == nil || c.Title != first.Title:
			title, threads = c.Title, fmt.Sprint(c.Threads)
			first = c
		case c.Threads != first.Threads:
			threads = fmt.Sprint(c.Threads)
			first = c
		default:
			against = fmt.Sprintf("%.2f x", results.Median(ops)/results.Median(first.Values("ops/s")))
		}
		row := []string{title, threads, c.Engine, short(results.Median(ops)), spread(ops)}
		for _, col := range columns {
			text := "-"
			if v := c.Values(col.unit); len(v) > 0 {
				text = col.show(results.Median(v))
			}
			row = append(row, text)
		}
		rows = append(rows, append(row, against))
	}
	return rows
}

// gap is the number of spaces between two columns.
const gap = 2

// widths returns how wide the columns of a table must be.
func widths(rows [][]string) []int {
	list := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			list[i] = max(list[i], utf8.RuneCountInString(text))
		}
	}
	return list
}

// tableWidth returns how wide writeTable writes rows.
func tableWidth(rows [][]string) int {
	n := -gap
	for _, w := range widths(rows) {
		n += w + gap
	}
	return n
}

// writeTable writes rows with their columns aligned, to the left or, like
// figures, to the right.
func writeTable(w io.Writer, rows [][]string, left func(column int) bool) {
	widths := widths(rows)
	for _, row := range rows {
		var b strings.Builder
		for i, text := range row {
			if i > 0 {
				b.WriteString(strings.Repeat(" ", gap))
			}
			fill := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if left(i) {
				b.WriteString(text + fill)
			} else {
				b.WriteString(fill + text)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// spread returns half the distance between the extremes, relative to the median.
func spread(v []float64) string {
	m := results.Median(v)
	if len(v) < 2 || m == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*(slices.Max(v)-slices.Min(v))/2/m)
}

// shortTime writes nanoseconds with three significant digits.
func shortTime(ns float64) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if ns >= float64(u.unit)*0.9995 {
			return three(ns/float64(u.unit)) + " " + u.name
		}
	}
	return fmt.Sprintf("%.0f ns", ns)
}
