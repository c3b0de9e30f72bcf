package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/perf/benchmath"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
)

// MediansCaption describes the table of medians.
const MediansCaption = "Medians; ± is their 95 % confidence interval, as in comparisons and in " +
	"benchstat (∞: it takes six samples)"

// A medianColumn is a column of figures in the table of medians.
type medianColumn struct{ head, unit string }

var medianColumns = []medianColumn{
	{"ns/op", "ns/op"},
	{"p50", "p50-ns"},
	{"p99", "p99-ns"},
	{"p99.9", "p99.9-ns"},
	{"resp p99", ResponsePrefix + "p99-ns"},
	{"achieved %", achieved},
	{"aborts/op", "aborts/op"},
	{"err/s", "err/s"},
	{"allocs/op", "allocs/op"},
}

// shown writes a figure: a time with its unit, or else by others.
func shown(unit string, v float64, others func(float64) string) string {
	if strings.HasSuffix(unit, "-ns") {
		return humanize.Time(time.Duration(math.Round(v)))
	}
	return others(v)
}

// Paced reports whether operations came at a given rate in all cells. Then their results are the
// response times, and whether all operations were begun, not the number of operations.
func Paced(cells []*Cell) bool {
	return len(cells) > 0 && !slices.ContainsFunc(cells, func(c *Cell) bool {
		return len(c.Values(achieved)) == 0
	})
}

// MedianRows returns the rows of the table of medians, the header first. For each workload and
// number of threads the other engines are compared with the first: by throughput or, if they are
// [Paced], by the response time that one in 100 exceeds.
func MedianRows(cells []*Cell) [][]string {
	columns := slices.DeleteFunc(slices.Clone(medianColumns), func(c medianColumn) bool {
		return !slices.ContainsFunc(cells, func(cell *Cell) bool {
			return len(cell.Values(c.unit)) > 0
		})
	})
	head := []string{"workload", "threads", "engine", "ops/s", "±"}
	for _, c := range columns {
		head = append(head, c.head)
	}
	noisy := slices.ContainsFunc(cells, func(c *Cell) bool { return c.Noisy() > 0 })
	by, against := "ops/s", "vs first"
	if Paced(cells) {
		by, against = ResponsePrefix+"p99-ns", "resp vs first"
	}
	head = append(head, against)
	if noisy {
		head = append(head, "noisy")
	}
	rows := [][]string{head}
	var first *Cell
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
			if v, w := c.Values(by), first.Values(by); len(v) > 0 && len(w) > 0 {
				against = humanize.Number(Median(v)/Median(w)) + " x" + markOf(c, first)
			}
		}
		row := []string{title, threads, c.Engine, humanize.Number(Median(ops)), spread(ops)}
		for _, col := range columns {
			text := "-"
			if v := c.Values(col.unit); len(v) > 0 {
				m, _ := MetricByUnit(col.unit)
				text = shown(col.unit, Median(v), m.Format)
			}
			row = append(row, text)
		}
		row = append(row, against)
		if noisy {
			row = append(row, noisyOf(c))
		}
		rows = append(rows, row)
	}
	return rows
}

// noisyOf says how many samples of a cell are noisy, nothing if none is.
func noisyOf(c *Cell) string {
	if c.Noisy() == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", c.Noisy(), len(c.Samples))
}

// spread returns the confidence interval of the median, relative to it, as comparisons have it.
func spread(v []float64) string {
	if len(v) < 2 || Median(v) == 0 {
		return "-"
	}
	sample := benchmath.NewSample(slices.Clone(v), &benchmath.DefaultThresholds)
	return benchmath.AssumeNothing.Summary(sample, confidence).PctRangeString()
}

// Median returns the median of v, which must not be empty.
func Median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
