package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/internal/results"
)

// plan decides what is drawn of a run.
func plan(r *results.Run) []section {
	cells := r.Cells()
	p := planner{}
	for _, c := range cells {
		if _, ok := p[c.Engine]; !ok {
			p[c.Engine] = len(p)
		}
	}
	var sections []section
	workload := func(c *results.Cell) string { return c.Samples[0].Workload }
	for _, name := range distinct(cells, workload) {
		of := only(cells, workload, name)
		s := section{Workload: name, Charts: []chart{}}
		s.Rows = results.MedianRows(of, results.MedianColumns(of))
		for _, param := range sweptParams(of) {
			s.Charts = append(s.Charts, p.againstParam(of, param)...)
		}
		swept := len(s.Charts) > 0
		for _, title := range distinct(of, titleOf) {
			same := only(of, titleOf, title)
			if swept && len(distinct(same, threadsOf)) < 2 {
				continue // the charts above have them all
			}
			s.Charts = append(s.Charts, p.againstThreads(same, title)...)
		}
		sections = append(sections, s)
	}
	return sections
}

func titleOf(c *results.Cell) string { return c.Title }

func threadsOf(c *results.Cell) int { return c.Threads }

// mostThreads returns the largest number of threads of cells.
func mostThreads(cells []*results.Cell) int { return slices.Max(distinct(cells, threadsOf)) }

// distinct returns the values of key, in the order in which they first occur.
func distinct[T any, K comparable](list []T, key func(T) K) []K {
	var keys []K
	for _, v := range list {
		if k := key(v); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// only returns those of list whose key is want.
func only[T any, K comparable](list []T, key func(T) K, want K) []T {
	return slices.DeleteFunc(slices.Clone(list), func(v T) bool { return key(v) != want })
}

// A position returns the x of a cell, and false if it has none.
type position func(*results.Cell) (x float64, ok bool)

// A planner has the places of the engines.
type planner map[string]int

// againstThreads returns the charts of one title.
func (p planner) againstThreads(cells []*results.Cell, title string) []chart {
	threads := func(c *results.Cell) (float64, bool) { return float64(c.Threads), true }
	charts := p.measured(cells, title, "", caption(cells), "goroutines", threads)
	for _, kind := range []string{results.Service, results.Response} {
		if c, ok := p.distribution(cells, title, kind); ok {
			charts = append(charts, c)
		}
	}
	return charts
}

// measured returns the charts of all figures that cells have against x.
func (p planner) measured(
	cells []*results.Cell, title, by, about, label string, x position,
) []chart {
	ticks, place := marks(cells, x)
	var charts []chart
	for _, f := range figuresOf(cells) {
		lines := p.lines(cells, f, func(c *results.Cell) (float64, bool) {
			v, ok := x(c)
			return place(v), ok
		})
		y := f.axis(lines)
		if y.Log {
			lines = positive(lines)
		}
		if len(lines) == 0 || f.unit == "aborts/op" && allZero(lines) {
			continue
		}
		words := f.words
		if y.Log {
			words = strings.TrimPrefix(words+", logarithmic", ", ")
		}
		charts = append(charts, chart{
			Title:  title + ": " + f.label + by,
			About:  strings.ToUpper(words[:1]) + words[1:] + ". " + about,
			X:      xAxis{label, ticks},
			Y:      y,
			Series: lines,
		})
	}
	return charts
}

// marks returns the marks of an axis of x, and where on it a value is: on a logarithmic scale if
// the values are far from each other.
func marks(cells []*results.Cell, x position) ([]tick, func(float64) float64) {
	var values []float64
	for _, c := range cells {
		if v, ok := x(c); ok && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	place := func(v float64) float64 { return v }
	if len(values) > 0 && values[0] > 0 && values[len(values)-1] >= 8*values[0] {
		place = math.Log2
	}
	var ticks []tick
	for _, v := range values {
		label := strconv.FormatFloat(v, 'f', -1, 64)
		if v >= 1e5 {
			label = brief.Number(v)
		}
		ticks = append(ticks, tick{place(v), label})
	}
	return ticks, place
}

// lines returns one line for each engine that has f, with their points in the order of x.
func (p planner) lines(cells []*results.Cell, f figure, x position) []series {
	var list []series
	for _, engine := range distinct(cells, func(c *results.Cell) string { return c.Engine }) {
		s := series{Name: engine, Place: p[engine]}
		for _, c := range cells {
			at, ok := x(c)
			v := c.Values(f.unit)
			if c.Engine != engine || !ok || len(v) == 0 {
				continue
			}
			s.Points = append(s.Points, point{
				at, results.Median(v) * f.scale, slices.Min(v) * f.scale, slices.Max(v) * f.scale,
			})
		}
		if len(s.Points) > 0 {
			slices.SortStableFunc(s.Points, func(a, b point) int { return cmp.Compare(a.X, b.X) })
			list = append(list, s)
		}
	}
	return list
}

func allZero(lines []series) bool {
	return !slices.ContainsFunc(lines, func(l series) bool {
		return slices.ContainsFunc(l.Points, func(p point) bool { return p.Max != 0 })
	})
}

func caption(cells []*results.Cell) string {
	n := 0
	for _, c := range cells {
		n = max(n, len(c.Samples))
	}
	if n == 1 {
		return "One sample each."
	}
	return fmt.Sprintf("Medians of %d samples; the bars go from the smallest to the largest.", n)
}

// percents are the percentiles of an axis, the most important ones first.
var percents = []float64{50, 90, 99, 99.9, 99.99, 99.999, 75, 95, 99.5, 99.95}

// distribution returns the chart of all percentiles of cells at their largest number of threads,
// and false if there is nothing to draw.
func (p planner) distribution(cells []*results.Cell, title, kind string) (chart, bool) {
	name := "latency"
	if kind == results.Response {
		name = "response time"
	}
	threads := mostThreads(cells)
	c := chart{
		Title: fmt.Sprintf("%s: %s with %s", title, name, goroutines(threads)),
		About: "Logarithmic. All samples together; a percentile is drawn if at least ten " +
			"operations exceeded it.",
		X: xAxis{Label: "percentile"},
		Y: yAxis{"s", true},
	}
	drawn := map[float64]bool{}
	for _, cell := range only(cells, threadsOf, threads) {
		percentiles, _ := cell.Distribution(kind)
		s := series{Name: cell.Engine, Place: p[cell.Engine]}
		for _, q := range percentiles {
			if y := float64(q.Ns) / 1e9; slices.Contains(percents, q.Percent) && y > 0 {
				s.Points = append(s.Points, point{nine(q.Percent), y, y, y})
			}
		}
		if len(s.Points) > 1 {
			c.Series = append(c.Series, s)
			for _, q := range percentiles {
				drawn[q.Percent] = true
			}
		}
	}
	for _, q := range percents {
		if drawn[q] {
			label := strconv.FormatFloat(q, 'f', -1, 64)
			c.X.Ticks = append(c.X.Ticks, tick{nine(q), label})
		}
	}
	return c, len(c.Series) > 0
}

// nine returns where a percentile is on an axis of nines: 90 at 1, 99 at 2.
func nine(percent float64) float64 { return -math.Log10(1 - percent/100) }

// sweptParams returns the parameters that have more than one value, all of them numbers.
func sweptParams(cells []*results.Cell) []string {
	values := map[string]map[string]bool{}
	for _, c := range cells {
		for _, p := range c.Samples[0].Params {
			if values[p.Name] == nil {
				values[p.Name] = map[string]bool{}
			}
			values[p.Name][p.Value] = true
		}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		numbers := true
		for v := range values[name] {
			_, ok := number(v)
			numbers = numbers && ok
		}
		if numbers && len(values[name]) > 1 {
			names = append(names, name)
		}
	}
	return names
}

// number returns the value of a parameter, or the middle of a range of values.
func number(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	if err == nil {
		return v, true
	}
	from, to, ok := strings.Cut(text, "-")
	a, errA := strconv.ParseFloat(from, 64)
	b, errB := strconv.ParseFloat(to, 64)
	return (a + b) / 2, ok && errA == nil && errB == nil
}

// paramLabels are what the axis of a parameter is called, if not by its name.
var paramLabels = map[string]string{
	"theta":      "theta of the Zipf distribution (0 is uniform)",
	"keys":       "keys",
	"read-pct":   "percentage of reads",
	"value-size": "bytes of a value",
	"txn-size":   "operations of a transaction",
}

// againstParam returns the charts of a workload against one of its parameters, at the largest
// number of threads: one for each setting of everything else.
func (p planner) againstParam(cells []*results.Cell, param string) []chart {
	label := cmp.Or(paramLabels[param], param)
	rest := func(c *results.Cell) string { return without(c.Title, param) }
	value := func(c *results.Cell) (float64, bool) { return number(c.Samples[0].Param(param)) }
	var charts []chart
	for _, title := range distinct(cells, rest) {
		of := only(cells, rest, title)
		most := mostThreads(of)
		of = only(of, threadsOf, most)
		if ticks, _ := marks(of, value); len(ticks) > 1 {
			about := fmt.Sprintf("%s %s.", caption(of), goroutines(most))
			charts = append(charts, p.measured(of, title, " by "+param, about, label, value)...)
		}
	}
	return charts
}

func goroutines(n int) string {
	if n == 1 {
		return "1 goroutine"
	}
	return fmt.Sprintf("%d goroutines", n)
}

// without returns a title without a parameter.
func without(title, param string) string {
	of := func(part string) bool { return strings.HasPrefix(part, param+"=") }
	return strings.Join(slices.DeleteFunc(strings.Split(title, "/"), of), "/")
}
