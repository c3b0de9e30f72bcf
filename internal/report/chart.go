package report

import (
	"math"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/internal/results"
)

// A section is the charts and the table of one workload.
type section struct {
	Workload string     `json:"-"`
	Rows     [][]string `json:"-"` // of the table of medians
	Charts   []chart    `json:"charts"`
}

// A chart is what is to be drawn; report.js does so.
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
	Ticks []tick `json:"ticks"` // of all points, the most important ones first
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
	// Place is the same for an engine in all charts: it is what chooses the colour.
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

// figure is what is drawn of each combination.
type figure struct {
	unit, label, words string  // words say what the y axis has
	scale              float64 // of what is drawn, in the unit of y
	y                  yAxis
}

var figures = []figure{
	{"ops/s", "throughput", "operations per second", 1, yAxis{Unit: "/s"}},
	{"p99-ns", "latency, 99th percentile", "", 1e-9, yAxis{"s", true}},
	{results.ResponsePrefix + "p99-ns", "response time, 99th percentile", "", 1e-9, yAxis{"s", true}},
	{"achieved-%", "achieved", "percentage of the operations due that were begun", 1, yAxis{Unit: "%"}},
	{"allocs/op", "allocations", "allocations per operation", 1, yAxis{}},
	{"aborts/op", "aborted attempts", "aborts per operation", 1, yAxis{}},
}

// figuresOf returns the figures in the order in which they are drawn of cells: if operations came
// at a given rate, first how long they took and whether all were begun.
func figuresOf(cells []*results.Cell) []figure {
	list := slices.Clone(figures)
	if results.Paced(cells) {
		first := func(f figure) bool {
			return strings.HasPrefix(f.unit, results.ResponsePrefix) || f.unit == "achieved-%"
		}
		slices.SortStableFunc(list, func(a, b figure) int {
			switch {
			case first(a) == first(b):
				return 0
			case first(a):
				return -1
			}
			return 1
		})
	}
	return list
}

// far is the ratio of the largest median to the smallest from which on an axis that begins at zero
// would show nothing of the small ones.
const far = 50

// axis returns the y axis for lines: that of f, but logarithmic for throughputs that are far apart.
func (f figure) axis(lines []series) yAxis {
	low, high := math.Inf(1), 0.0
	for _, l := range lines {
		for _, p := range l.Points {
			low, high = min(low, p.Y), max(high, p.Y)
		}
	}
	y := f.y
	y.Log = y.Log || f.unit == "ops/s" && low > 0 && high >= far*low
	return y
}

// positive returns lines without what cannot be on a logarithmic axis: zero and less.
func positive(lines []series) []series {
	var list []series
	for _, s := range lines {
		s.Points = slices.DeleteFunc(slices.Clone(s.Points), func(p point) bool { return p.Y <= 0 })
		for i, p := range s.Points {
			if p.Min <= 0 {
				s.Points[i].Min = p.Y
			}
		}
		if len(s.Points) > 0 {
			list = append(list, s)
		}
	}
	return list
}
