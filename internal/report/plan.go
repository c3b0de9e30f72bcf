package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mvccmap/mvccmap/internal/results"
)

// A section is the charts of one workload.
type section struct {
	Workload string
	Charts   []chart
}

// A chart is what is to be drawn.
type chart struct {
	File    string // without the ending
	Title   string
	Caption string
	X, Y    axis
	Series  []series
}

// axis describes one axis of a chart.
type axis struct {
	Label string
	Scale scale
	Unit  unit
}

type scale int

const (
	linear scale = iota
	fromZero
	logarithmic
	doubling // logarithmic, with marks at the values themselves
	atValues // linear, likewise
	nines    // percentiles: 90, 99, 99.9 at equal distances
)

// unit says how the numbers beside an axis are written.
type unit int

const (
	plain unit = iota
	nanoseconds
)

// series is one line of a chart.
type series struct {
	Name   string
	Place  int // the same for an engine in all charts: it is what chooses the colour
	Points []point
}

// point is the median of the samples of one combination, with the smallest and the
// largest of them.
type point struct {
	X, Y, Min, Max float64
}

// figure is what is drawn of each combination.
type figure struct {
	unit, name, label string
	y                 axis
}

var figures = []figure{
	{"ops/s", "throughput", "Throughput", axis{"operations per second", fromZero, plain}},
	{"p99-ns", "latency-p99", "Latency, 99th percentile", axis{"latency", logarithmic, nanoseconds}},
	{results.ResponsePrefix + "p99-ns", "response-p99", "Response time, 99th percentile", axis{"response time", logarithmic, nanoseconds}},
	{"allocs/op", "allocs", "Allocations", axis{"allocations per operation", fromZero, plain}},
	{"aborts/op", "aborts", "Aborted attempts", axis{"aborts per operation", fromZero, plain}},
}

// far is how many times the smallest median the largest is when an axis from zero
// would show nothing of the small ones.
const far = 50

// axis returns the y axis for lines: that of f, but a logarithmic one for
// throughputs that are far apart.
func (f figure) axis(lines []series) axis {
	low, high := math.Inf(1), 0.0
	for _, l := range lines {
		for _, p := range l.Points {
			low, high = min(low, p.Y), max(high, p.Y)
		}
	}
	if f.unit != "ops/s" || low <= 0 || high < far*low {
		return f.y
	}
	return axis{"operations/s, logarithmic", logarithmic, f.y.Unit} // short: it must fit beside the plot
}

// drawable returns c without what cannot be on a logarithmic axis: zero and less.
func (c chart) drawable() chart {
	if c.Y.Scale != logarithmic {
		return c
	}
	var list []series
	for _, s := range c.Series {
		var points []point
		for _, p := range s.Points {
			if p.Y <= 0 {
				continue
			}
			if p.Min <= 0 {
				p.Min = p.Y
			}
			points = append(points, p)
		}
		if len(points) > 0 {
			list = append(list, series{s.Name, s.Place, points})
		}
	}
	c.Series = list
	return c
}

// plan decides what is drawn of a run.
func plan(r *results.Run) ([]section, error) {
	cells := r.Cells()
	places := map[string]int{}
	for _, c := range cells {
		if _, ok := places[c.Engine]; !ok {
			places[c.Engine] = len(places)
		}
	}
	var sections []section
	for _, workload := range distinct(cells, func(c *results.Cell) string { return c.Samples[0].Workload }) {
		of := slices.DeleteFunc(slices.Clone(cells), func(c *results.Cell) bool { return c.Samples[0].Workload != workload })
		s := section{Workload: workload}
		for _, param := range sweptParams(of) {
			s.Charts = append(s.Charts, againstParam(of, param, places)...)
		}
		swept := len(s.Charts) > 0
		for _, title := range distinct(of, func(c *results.Cell) string { return c.Title }) {
			same := slices.DeleteFunc(slices.Clone(of), func(c *results.Cell) bool { return c.Title != title })
			if swept && len(threadsOf(same)) < 2 {
				continue // the charts above have them all
			}
			charts, err := againstThreads(same, title, places)
			if err != nil {
				return nil, err
			}
			s.Charts = append(s.Charts, charts...)
		}
		sections = append(sections, s)
	}
	return sections, nil
}

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

func threadsOf(cells []*results.Cell) []int {
	return slices.Sorted(slices.Values(distinct(cells, func(c *results.Cell) int { return c.Threads })))
}

// againstThreads returns the charts of one title.
func againstThreads(cells []*results.Cell, title string, places map[string]int) ([]chart, error) {
	threads := threadsOf(cells)
	x := axis{"goroutines", atValues, plain}
	if threads[len(threads)-1] >= 8*threads[0] {
		x.Scale = doubling
	}
	var charts []chart
	for _, f := range figures {
		lines := lines(cells, f.unit, places, func(c *results.Cell) (float64, bool) { return float64(c.Threads), true })
		if len(lines) == 0 || f.unit == "aborts/op" && allZero(lines) {
			continue
		}
		charts = append(charts, chart{
			File:    fileName(title, f.name),
			Title:   title + ": " + strings.ToLower(f.label[:1]) + f.label[1:],
			Caption: caption(cells),
			X:       x, Y: f.axis(lines), Series: lines,
		})
	}
	for _, kind := range []string{results.Service, results.Response} {
		c, ok, err := distribution(cells, title, kind, threads[len(threads)-1], places)
		if err != nil {
			return nil, err
		}
		if ok {
			charts = append(charts, c)
		}
	}
	return charts, nil
}

// lines returns one line for each engine that has figures of the unit, with their
// points in the order of x.
func lines(cells []*results.Cell, unit string, places map[string]int, x func(*results.Cell) (float64, bool)) []series {
	var list []series
	for _, engine := range distinct(cells, func(c *results.Cell) string { return c.Engine }) {
		s := series{Name: engine, Place: places[engine]}
		for _, c := range cells {
			at, ok := x(c)
			v := c.Values(unit)
			if c.Engine != engine || !ok || len(v) == 0 {
				continue
			}
			s.Points = append(s.Points, point{at, results.Median(v), slices.Min(v), slices.Max(v)})
		}
		if len(s.Points) > 0 {
			slices.SortStableFunc(s.Points, func(a, b point) int { return cmp.Compare(a.X, b.X) })
			list = append(list, s)
		}
	}
	return list
}

func allZero(lines []series) bool {
	for _, l := range lines {
		for _, p := range l.Points {
			if p.Max != 0 {
				return false
			}
		}
	}
	return true
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

// distribution returns the chart of all percentiles at a number of threads.
func distribution(cells []*results.Cell, title, kind string, threads int, places map[string]int) (chart, bool, error) {
	name := "latency"
	if kind == results.Response {
		name = "response time"
	}
	c := chart{
		File:    fileName(title, strings.ReplaceAll(name, " ", "-")+"-distribution"),
		Title:   fmt.Sprintf("%s: %s with %d goroutines", title, name, threads),
		Caption: "All samples together; a percentile is drawn if at least ten operations exceeded it.",
		X:       axis{"percentile", nines, plain},
		Y:       axis{name, logarithmic, nanoseconds},
	}
	if threads == 1 {
		c.Title = fmt.Sprintf("%s: %s with 1 goroutine", title, name)
	}
	for _, cell := range cells {
		if cell.Threads != threads {
			continue
		}
		percentiles, n, err := cell.Distribution(kind)
		if err != nil {
			return c, false, err
		}
		s := series{Name: cell.Engine, Place: places[cell.Engine]}
		for _, p := range percentiles {
			if p.Percent >= 50 {
				y := float64(p.Ns)
				s.Points = append(s.Points, point{nine(p.Percent), y, y, y})
			}
		}
		if n > 0 && len(s.Points) > 1 {
			c.Series = append(c.Series, s)
		}
	}
	return c, len(c.Series) > 0, nil
}

// nine returns where a percentile is on an axis of nines: 90 at 1, 99 at 2.
func nine(percent float64) float64 { return -math.Log10(1 - percent/100) }

// sweptParams returns the parameters of which there is more than one value, all of
// them numbers.
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

// againstParam returns the charts of a workload against one of its parameters, at
// the largest number of threads: one for each setting of everything else.
func againstParam(cells []*results.Cell, param string, places map[string]int) []chart {
	label := paramLabels[param]
	if label == "" {
		label = param
	}
	rest := func(c *results.Cell) string { return without(c.Title, param) }
	var charts []chart
	for _, title := range distinct(cells, rest) {
		of := slices.DeleteFunc(slices.Clone(cells), func(c *results.Cell) bool { return rest(c) != title })
		threads := threadsOf(of)
		most := threads[len(threads)-1]
		of = slices.DeleteFunc(of, func(c *results.Cell) bool { return c.Threads != most })
		value := func(c *results.Cell) (float64, bool) { return number(c.Samples[0].Param(param)) }
		var xs []float64
		for _, c := range of {
			if v, ok := value(c); ok && !slices.Contains(xs, v) {
				xs = append(xs, v)
			}
		}
		if len(xs) < 2 {
			continue
		}
		x := axis{label, atValues, plain}
		if low := slices.Min(xs); low > 0 && slices.Max(xs) >= 8*low {
			x.Scale = doubling
		}
		for _, f := range figures {
			lines := lines(of, f.unit, places, value)
			if len(lines) == 0 || f.unit == "aborts/op" && allZero(lines) {
				continue
			}
			charts = append(charts, chart{
				File:    fileName(title, f.name+"-by-"+param),
				Title:   fmt.Sprintf("%s: %s by %s", title, strings.ToLower(f.label[:1])+f.label[1:], param),
				Caption: fmt.Sprintf("%s %s.", caption(of), goroutines(most)),
				X:       x, Y: f.axis(lines), Series: lines,
			})
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

// without returns a title without what it says of a parameter.
func without(title, param string) string {
	parts := strings.Split(title, "/")
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return strings.HasPrefix(p, param+"=") }), "/")
}

// fileName returns a name for the file of a chart.
func fileName(title, what string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(title))
	return clean + "-" + what
}
