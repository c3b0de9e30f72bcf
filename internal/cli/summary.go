package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mvccmap/mvccmap/bench"
)

// summary collects the samples of a run for the table at its end.
type summary struct {
	order []summaryKey
	cells map[summaryKey]*cell
}

type summaryKey struct {
	title, engine string
	threads       int
}

// cell has the samples of one row.
type cell struct {
	nsPerOp, ops, aborts, p99 []float64
}

func (s *summary) add(c bench.Config, m bench.Measurement) {
	k := summaryKey{c.Workload.Title(), c.Engine.Name, c.Threads}
	row := s.cells[k]
	if row == nil {
		if s.cells == nil {
			s.cells = map[summaryKey]*cell{}
		}
		row = new(cell)
		s.cells[k] = row
		s.order = append(s.order, k)
	}
	row.nsPerOp = append(row.nsPerOp, m.NsPerOp())
	row.ops = append(row.ops, m.OpsPerSecond())
	row.aborts = append(row.aborts, m.AbortsPerOp())
	if p99, ok := m.Quantile(0.99); ok {
		row.p99 = append(row.p99, float64(p99))
	}
}

// print writes the medians as a table. The first engine of each workload and
// number of threads is what the others are compared with.
func (s *summary) print(w io.Writer) {
	if len(s.order) == 0 {
		return
	}
	rows := [][]string{{"workload", "threads", "engine", "ops/s", "±", "ns/op", "p99", "aborts/op", "vs first"}}
	var first summaryKey
	for _, k := range s.order {
		c := s.cells[k]
		title, threads, against := "", "", ""
		switch {
		case k.title != first.title:
			title, threads = k.title, fmt.Sprint(k.threads)
			first = k
		case k.threads != first.threads:
			threads = fmt.Sprint(k.threads)
			first = k
		default:
			against = fmt.Sprintf("%.2f x", median(c.ops)/median(s.cells[first].ops))
		}
		p99 := "-"
		if len(c.p99) > 0 {
			p99 = shortTime(median(c.p99))
		}
		rows = append(rows, []string{title, threads, k.engine,
			short(median(c.ops)), spread(c.ops), metrics[0].format(median(c.nsPerOp)), p99,
			metrics[0].format(median(c.aborts)), against})
	}
	fmt.Fprintf(w, "\nMedians; ± is half the distance between the smallest and the largest sample:\n")
	writeTable(w, rows, func(column int) bool { return column == 0 || column == 2 })
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

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

// spread returns half the distance between the extremes, relative to the median.
func spread(v []float64) string {
	m := median(v)
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
