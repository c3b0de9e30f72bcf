package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/internal/results"
)

// manyCharts is how many charts of a workload are too many to be looked at one by one: they are
// folded away, below heat maps of all combinations.
const manyCharts = 12

// A heatMap has the medians of one figure of a workload, as a table in which larger ones have more
// colour.
type heatMap struct {
	Title, About string
	Label        string // what the columns are
	Columns      []string
	Rows         []heatRow
}

type heatRow struct {
	Name  string
	Cells []heatCell
}

// A heatCell is a median. Its shade is from 0 to shades-1, -1 if there is none.
type heatCell struct {
	Text  string
	Shade int
}

const shades = 9

// heated are the figures that have heat maps, if there are any such.
var heated = []string{results.ResponsePrefix + "p99-ns", "ops/s", "p99-ns"}

// heatMaps returns the maps of the cells of a workload: the numbers of goroutines across or, if
// there is but one, the parameter with most values.
func heatMaps(cells []*results.Cell) (list []heatMap) {
	label, column := "goroutines", func(c *results.Cell) string { return strconv.Itoa(c.Threads) }
	setting := func(title string) string {
		_, params, _ := strings.Cut(title, "/")
		return params
	}
	row := func(c *results.Cell) string { return setting(c.Title) }
	if len(results.Grouped(cells, threadsOf)) < 2 {
		most := 1
		for _, param := range sweptParams(cells) {
			value := func(c *results.Cell) string { return c.Samples[0].Param(param) }
			if n := len(results.Grouped(cells, value)); n > most {
				most, label, column = n, param, value
				row = func(c *results.Cell) string { return setting(without(c.Title, param)) }
			}
		}
	}
	cells = slices.Concat(results.Grouped(cells, row)...) // the engines of one setting together
	name := row
	if len(results.Grouped(cells, engineOf)) > 1 {
		name = func(c *results.Cell) string {
			return strings.TrimSpace(strings.ReplaceAll(row(c), "/", " ") + " " + c.Engine)
		}
	}
	for _, unit := range heated {
		m := heatMap{Label: label}
		for _, of := range results.Grouped(cells, column) {
			m.Columns = append(m.Columns, column(of[0]))
		}
		slices.SortFunc(m.Columns, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
		if m.fill(cells, unit, name, column) {
			list = append(list, m)
		}
	}
	return list
}

// fill makes the rows, and reports whether there is anything in them.
func (m *heatMap) fill(
	cells []*results.Cell, unit string, name, column func(*results.Cell) string,
) bool {
	low, high := math.Inf(1), math.Inf(-1)
	var values [][]float64
	for _, of := range results.Grouped(cells, name) {
		m.Rows = append(m.Rows, heatRow{Name: name(of[0])})
		list := make([]float64, len(m.Columns))
		for i := range list {
			list[i] = math.NaN()
		}
		for _, c := range of {
			if v := c.Values(unit); len(v) > 0 {
				v := results.Median(v)
				list[slices.Index(m.Columns, column(c))] = v
				low, high = min(low, v), max(high, v)
			}
		}
		values = append(values, list)
	}
	if !(high > 0) {
		return false
	}
	f := figures[slices.IndexFunc(figures, func(f figure) bool { return f.unit == unit })]
	m.Title, m.About = f.label, "The stronger the colour, the longer it took"
	text := func(v float64) string { return brief.Time(time.Duration(v)) }
	if unit == "ops/s" {
		m.About, text = "Operations per second: the stronger the colour, the more", brief.Number
	}
	place := func(v float64) float64 { return v }
	if low > 0 && high >= far*low {
		m.About += ", on a logarithmic scale"
		place = math.Log
	}
	m.About += fmt.Sprintf(". Medians; from %s to %s.", text(low), text(high))
	for i, list := range values {
		for _, v := range list {
			cell := heatCell{"–", -1}
			if !math.IsNaN(v) {
				part := 0.5 // if all are the same
				if high > low {
					part = (place(v) - place(low)) / (place(high) - place(low))
				}
				cell = heatCell{text(v), min(int(part*shades), shades-1)}
			}
			m.Rows[i].Cells = append(m.Rows[i].Cells, cell)
		}
	}
	return true
}

// Class is the class of a cell in the style sheet.
func (c heatCell) Class() string {
	if c.Shade < 0 {
		return "none"
	}
	return "heat" + strconv.Itoa(c.Shade)
}

// Fold says how many charts are folded away, "" if none are.
func (s section) Fold() string {
	if len(s.Heat) == 0 {
		return ""
	}
	return fmt.Sprintf("The %d charts of %s", len(s.Charts), s.Workload)
}
