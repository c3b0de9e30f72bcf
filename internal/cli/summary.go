package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/internal/results"
)

// writeOperations writes the medians of each kind of operation, where workloads have several.
func writeOperations(w io.Writer, r *results.Run, width int) error {
	rows := results.OperationRows(r.Cells())
	if rows == nil {
		return nil
	}
	var b strings.Builder
	text := &textWriter{w: &b, width: width}
	text.line("")
	text.line("Operations, medians:")
	if width != anyWidth && results.Width(rows) > width {
		for i := range rows { // the medians above have the workload, too
			rows[i] = append(rows[i][:1:1], rows[i][2:]...)
		}
	}
	_ = results.Plain.Write(&b, rows, func(column int) bool {
		return slices.Contains([]string{"operation", "workload", "engine"}, rows[0][column])
	})
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
	columns := results.MedianColumns(cells)
	fits := func(rows [][]string) bool { return width == anyWidth || results.Width(rows) <= width }
	rows := results.MedianRows(cells, columns)
	// Where there is little room the workloads have lines of their own, and
	// if that is not enough, the rest has to be looked up.
	var titles []string
	var left []string
	for !fits(rows) && (titles == nil || len(columns) > 0) {
		if titles != nil {
			least := slices.MinFunc(columns, func(a, b results.MedianColumn) int {
				return cmp.Compare(a.Rank, b.Rank)
			})
			columns = slices.DeleteFunc(columns, func(c results.MedianColumn) bool {
				return c.Unit == least.Unit
			})
			left = append(left, least.Head)
		}
		rows = results.MedianRows(cells, columns)
		titles = nil
		for _, row := range rows {
			titles = append(titles, row[0])
			row[0] = ""
		}
	}
	var b strings.Builder
	text := &textWriter{w: &b, width: width}
	text.line("")
	text.line(results.MediansCaption + ":")
	var lines strings.Builder
	_ = results.Plain.Write(&lines, rows, func(column int) bool { return column == 0 || column == 2 })
	i := 0
	for line := range strings.Lines(lines.String()) {
		if i > 0 && titles != nil && titles[i] != "" {
			text.line(titles[i])
		}
		b.WriteString(line)
		i++
	}
	if len(left) > 0 {
		text.line(fmt.Sprintf("For %s this terminal is too narrow; the results have them.",
			strings.Join(left, ", ")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
