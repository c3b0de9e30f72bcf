package cli

import (
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
}

// medianColumns are the figures of the table of medians. Those that no sample has
// are left out.
var medianColumns = []column{
	{"ns/op", "ns/op", rounded("ns/op")},
	{"p50", "p50-ns", shortTime},
	{"p99", "p99-ns", shortTime},
	{"p99.9", "p99.9-ns", shortTime},
	{"resp p99", results.ResponsePrefix + "p99-ns", shortTime},
	{"achieved %", "achieved-%", rounded("achieved-%")},
	{"aborts/op", "aborts/op", rounded("aborts/op")},
	{"allocs/op", "allocs/op", rounded("allocs/op")},
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
	if err := writeMedians(&b, r); err != nil {
		return err
	}
	if mark := r.Mark(); mark != "" {
		fmt.Fprintf(&b, "\nNOTE: %s\n", mark)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeMedians writes the medians as a table. The first engine of each workload
// and number of threads is what the others are compared with.
func writeMedians(w io.Writer, r *results.Run) error {
	cells := r.Cells()
	if len(cells) == 0 {
		return nil
	}
	var columns []column
	for _, c := range medianColumns {
		if slices.ContainsFunc(cells, func(cell *results.Cell) bool { return len(cell.Values(c.unit)) > 0 }) {
			columns = append(columns, c)
		}
	}
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
	var b strings.Builder
	fmt.Fprintf(&b, "\nMedians; ± is half the distance between the smallest and the largest sample:\n")
	writeTable(&b, rows, func(column int) bool { return column == 0 || column == 2 })
	_, err := io.WriteString(w, b.String())
	return err
}

// writeTable writes rows with their columns aligned, to the left or, like
// figures, to the right.
func writeTable(w io.Writer, rows [][]string, left func(column int) bool) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, text := range row {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if left(i) {
				b.WriteString(text + gap + "  ")
			} else {
				b.WriteString(gap + text + "  ")
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
