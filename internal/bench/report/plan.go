package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// A figure is drawn of each combination.
type figure struct {
	unit, label, words string  // words for the y axis
	scale              float64 // of the drawn value, in the unit of y
	y                  yAxis
}

// figures are in the order in which they are drawn. Those that need operations at a given rate come
// first: how long the operations took, and whether all were begun.
var figures = []figure{
	{results.ResponsePrefix + "p99-ns", "response time, 99th percentile", "", 1e-9, yAxis{"s", true}},
	{"achieved-%", "achieved", "percentage of the operations due that were begun", 1,
		yAxis{Unit: "%"}},
	{"ops/s", "throughput", "operations per second", 1, yAxis{Unit: "/s"}},
	{"p99-ns", "latency, 99th percentile", "", 1e-9, yAxis{"s", true}},
	{"allocs/op", "allocations", "allocations per operation", 1, yAxis{}},
	{"aborts/op", "aborted attempts", "aborts per operation", 1, yAxis{}},
}

// plan decides on the charts of a run.
func plan(r *results.Run) []section {
	cells := r.Cells()
	p := planner{}
	for i, of := range results.Grouped(cells, engineOf) {
		p[of[0].Engine] = i
	}
	sections := []section{}
	for _, of := range results.Grouped(cells, workloadOf) {
		s := section{Workload: workloadOf(of[0]), Charts: []chart{}}
		s.Rows = results.MedianRows(of)
		for _, param := range sweptParams(of) {
			s.Charts = append(s.Charts, p.againstParam(of, param)...)
		}
		swept := len(s.Charts) > 0
		for _, same := range results.Grouped(of, titleOf) {
			if swept && len(results.Grouped(same, threadsOf)) < 2 {
				continue // the charts above have them all
			}
			s.Charts = append(s.Charts, p.againstThreads(same)...)
		}
		for _, same := range results.Grouped(of, titleOf) {
			s.Charts = append(s.Charts, p.overTime(same)...)
		}
		sections = append(sections, s)
	}
	return sections
}

func engineOf(c *results.Cell) string   { return c.Engine }
func titleOf(c *results.Cell) string    { return c.Title }
func threadsOf(c *results.Cell) int     { return c.Threads }
func workloadOf(c *results.Cell) string { return c.Samples[0].Workload }

// most returns the cells with the largest number of goroutines, and that number in words.
func most(cells []*results.Cell) ([]*results.Cell, string) {
	of := slices.MaxFunc(results.Grouped(cells, threadsOf), func(a, b []*results.Cell) int {
		return a[0].Threads - b[0].Threads
	})
	if of[0].Threads == 1 {
		return of, "1 goroutine"
	}
	return of, fmt.Sprintf("%d goroutines", of[0].Threads)
}

// A planner has the places of the engines.
type planner map[string]int

// againstThreads returns the charts of one title.
func (p planner) againstThreads(cells []*results.Cell) []chart {
	threads := func(c *results.Cell) float64 { return float64(c.Threads) }
	charts := p.measured(cells, cells[0].Title, "", "", "goroutines", threads)
	return append(charts, p.distributions(cells)...)
}

// againstParam returns the charts of a workload against one of its parameters, at the largest
// number of threads: one for each setting of everything else.
func (p planner) againstParam(cells []*results.Cell, param string) []chart {
	rest := func(c *results.Cell) string { return without(c.Title, param) }
	value := func(c *results.Cell) float64 { return number(c.Samples[0].Param(param)) }
	var charts []chart
	for _, of := range results.Grouped(cells, rest) {
		of, goroutines := most(of)
		if ticks, _ := marks(of, value); len(ticks) > 1 {
			charts = append(charts, p.measured(of, rest(of[0]), " by "+param, " "+goroutines+".",
				cmp.Or(paramLabels[param], param), value)...)
		}
	}
	return charts
}

// far is the least ratio of the largest median to the smallest at which an axis that begins at zero
// would hide the small ones.
const far = 50

// measured returns the charts of all figures that cells have, against x. x returns NaN for a cell
// that has no value of it.
func (p planner) measured(
	cells []*results.Cell, title, by, also, label string, x func(*results.Cell) float64,
) []chart {
	ticks, place := marks(cells, x)
	about := "One sample each."
	if n := len(slices.MaxFunc(cells, func(a, b *results.Cell) int {
		return len(a.Samples) - len(b.Samples)
	}).Samples); n > 1 {
		about = fmt.Sprintf("Medians of %d samples; the bars go from the smallest to the largest.", n)
	}
	var charts []chart
	for _, f := range figures {
		low, high, peak := math.Inf(1), 0.0, 0.0
		lines := p.lines(cells, func(c *results.Cell) []point {
			v, at := c.Values(f.unit), x(c)
			if len(v) == 0 || math.IsNaN(at) {
				return nil
			}
			d := point{place(at), results.Median(v) * f.scale, slices.Min(v) * f.scale,
				slices.Max(v) * f.scale}
			switch { // a logarithmic axis has no place for zero
			case f.y.Log && d.Y <= 0:
				return nil
			case f.y.Log && d.Min <= 0:
				d.Min = d.Y
			}
			low, high, peak = min(low, d.Y), max(high, d.Y), max(peak, d.Max)
			return []point{d}
		})
		if len(lines) == 0 || f.unit == "aborts/op" && peak == 0 {
			continue
		}
		y, words := f.y, f.words
		if y.Log = y.Log || f.unit == "ops/s" && low > 0 && high >= far*low; y.Log {
			words = strings.TrimPrefix(words+", logarithmic", ", ")
		}
		charts = append(charts, chart{
			Title:  title + ": " + f.label + by,
			About:  strings.ToUpper(words[:1]) + words[1:] + ". " + about + also,
			X:      xAxis{Label: label, Ticks: ticks},
			Y:      y,
			Series: lines,
		})
	}
	return charts
}

// lines returns one line for each engine that has points, in the order of x.
func (p planner) lines(cells []*results.Cell, points func(*results.Cell) []point) []series {
	var list []series
	for _, of := range results.Grouped(cells, engineOf) {
		s := series{Name: of[0].Engine, Place: p[of[0].Engine]}
		for _, c := range of {
			s.Points = append(s.Points, points(c)...)
		}
		if len(s.Points) > 0 {
			slices.SortStableFunc(s.Points, func(a, b point) int { return cmp.Compare(a.X, b.X) })
			list = append(list, s)
		}
	}
	return list
}

// marks returns the marks of an axis of x, and a function that returns the place of a value on it.
// Values that are far from each other have a logarithmic scale.
func marks(cells []*results.Cell, x func(*results.Cell) float64) ([]tick, func(float64) float64) {
	var values []float64
	for _, c := range cells {
		if v := x(c); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	values = slices.Compact(values)
	place := func(v float64) float64 { return v }
	if len(values) > 0 && values[0] > 0 && values[len(values)-1] >= 8*values[0] {
		place = math.Log2
	}
	var ticks []tick
	for _, v := range values {
		label := strconv.FormatFloat(v, 'f', -1, 64)
		if v >= 1e5 {
			label = humanize.Number(v)
		}
		ticks = append(ticks, tick{place(v), label})
	}
	return ticks, place
}

// percents are the percentiles of an axis, the most important ones first.
var percents = []float64{50, 90, 99, 99.9, 99.99, 99.999, 75, 95, 99.5, 99.95}

// distributions returns the charts of all percentiles of cells at their largest number of threads,
// of each kind of latency that there is.
func (p planner) distributions(cells []*results.Cell) (charts []chart) {
	of, goroutines := most(cells)
	for _, kind := range []string{results.Service, results.Response} {
		last := 0.0
		lines := p.lines(of, func(c *results.Cell) (points []point) {
			percentiles, _ := c.Distribution(kind)
			for _, q := range percentiles {
				if y := float64(q.Ns) / 1e9; slices.Contains(percents, q.Percent) && y > 0 {
					points = append(points, point{nine(q.Percent), y, y, y})
				}
			}
			if len(points) < 2 {
				return nil
			}
			last = max(last, points[len(points)-1].X)
			return points
		})
		if len(lines) == 0 {
			continue
		}
		c := chart{
			Title: fmt.Sprintf("%s: %s with %s", of[0].Title, map[string]string{
				results.Service: "latency", results.Response: "response time"}[kind], goroutines),
			About: "Logarithmic. All samples together; a percentile is drawn if at least ten " +
				"operations exceeded it.",
			X: xAxis{Label: "percentile"}, Y: yAxis{"s", true}, Series: lines,
		}
		for _, q := range percents {
			if nine(q) <= last {
				c.X.Ticks = append(c.X.Ticks, tick{nine(q), strconv.FormatFloat(q, 'f', -1, 64)})
			}
		}
		charts = append(charts, c)
	}
	return charts
}

// nine returns where a percentile is on an axis of nines: 90 at 1, 99 at 2.
func nine(percent float64) float64 { return -math.Log10(1 - percent/100) }

// sweptParams returns the parameters that have more than one value, all of them numbers.
func sweptParams(cells []*results.Cell) (names []string) {
	values := map[string][]float64{}
	for _, c := range cells {
		for _, p := range c.Samples[0].Params {
			if v := number(p.Value); !slices.Contains(values[p.Name], v) {
				values[p.Name] = append(values[p.Name], v)
			}
		}
	}
	for name, list := range values {
		if len(list) > 1 && !slices.ContainsFunc(list, math.IsNaN) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// number returns the value of a parameter, or the middle of a range of values, or NaN.
func number(text string) float64 {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v
	}
	from, to, _ := strings.Cut(text, "-")
	a, errA := strconv.ParseFloat(from, 64)
	b, errB := strconv.ParseFloat(to, 64)
	if errA != nil || errB != nil {
		return math.NaN()
	}
	return (a + b) / 2
}

// paramLabels are the names of the axes of parameters, if not their own.
var paramLabels = map[string]string{
	"theta":      "theta of the Zipf distribution (0 is uniform)",
	"read-pct":   "percentage of reads",
	"value-size": "bytes of a value",
	"txn-size":   "operations of a transaction",
}

// without returns a title without a parameter.
func without(title, param string) string {
	of := func(part string) bool { return strings.HasPrefix(part, param+"=") }
	return strings.Join(slices.DeleteFunc(strings.Split(title, "/"), of), "/")
}

// A section is the charts and the table of one workload.
type section struct {
	Workload string     `json:"-"`
	Rows     [][]string `json:"-"` // of the table of medians
	Charts   []chart    `json:"charts"`
}

// A chart has the data of a drawing; report.js draws it.
type chart struct {
	Title  string   `json:"title"`
	About  string   `json:"about"`
	X      xAxis    `json:"x"`
	Y      yAxis    `json:"y"`
	Series []series `json:"series"`
}

// xAxis describes the x axis of a chart. To the page it is always linear: the values of another
// scale are placed here.
type xAxis struct {
	Label string `json:"label"`
	Ticks []tick `json:"ticks"` // of all points, the most important ones first; or of some
	Unit  string `json:"unit"`  // of x, if not all points have ticks
}

type tick struct {
	At    float64 `json:"at"`
	Label string  `json:"label"`
}

// yAxis describes the y axis of a chart.
type yAxis struct {
	Unit string `json:"unit"` // as charts.js knows it
	Log  bool   `json:"log"`
}

// series is one line of a chart.
type series struct {
	Name string `json:"name"`
	// Place is the same for an engine in all charts: it chooses the colour.
	Place  int     `json:"place"`
	Points []point `json:"points"`
}

// point is the median of the samples of one combination, with the smallest and the largest of them.
type point struct {
	X   float64 `json:"x"` // where it is on the axis
	Y   float64 `json:"y"`
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}
