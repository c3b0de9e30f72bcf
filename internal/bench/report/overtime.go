package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// A moment is an interval, and how long it was.
type moment struct {
	results.Interval
	took time.Duration
}

// rate returns n per second of the interval.
func (m moment) rate(n uint64) float64 { return float64(n) / m.took.Seconds() }

// moments returns the intervals of one sample of c: of the samples that have some, the one whose
// throughput is the median, the lower of two.
func moments(c *results.Cell) (list []moment) {
	with := slices.DeleteFunc(slices.Clone(c.Samples), func(s *results.Sample) bool {
		return len(s.Intervals) < 2
	})
	if len(with) == 0 {
		return nil
	}
	slices.SortStableFunc(with, func(a, b *results.Sample) int {
		return cmp.Compare(a.Metrics["ops/s"], b.Metrics["ops/s"])
	})
	at := time.Duration(0)
	for _, i := range with[(len(with)-1)/2].Intervals {
		list = append(list, moment{i, i.End - at})
		at = i.End
	}
	return list
}

// ofEach is the remark of charts of times.
const ofEach = "Of each interval, logarithmic."

// A line is one figure of a cell that is drawn over time.
type line struct {
	name string
	of   func(moment) float64
}

var (
	percentileLines = []line{
		{"p50", func(m moment) float64 { return float64(m.P50) / 1e9 }},
		{"p90", func(m moment) float64 { return float64(m.P90) / 1e9 }},
		{"p99", func(m moment) float64 { return float64(m.P99) / 1e9 }},
		{"max", func(m moment) float64 { return float64(m.Max) / 1e9 }},
	}
	opsLine    = line{"ops", func(m moment) float64 { return m.rate(m.Ops) }}
	abortsLine = line{"aborts", func(m moment) float64 { return m.rate(m.Aborts) }}
	errorsLine = line{"errors", func(m moment) float64 { return m.rate(m.Errors) }}
)

// overTime returns the charts of samples of cells over time, at their largest number of threads;
// nothing if that is not recorded.
func (p planner) overTime(cells []*results.Cell) (charts []chart) {
	of, goroutines := most(cells)
	of = slices.DeleteFunc(slices.Clone(of), func(c *results.Cell) bool {
		return len(moments(c)) == 0
	})
	if len(of) == 0 {
		return nil
	}
	which := "One sample"
	if slices.ContainsFunc(of, func(c *results.Cell) bool { return len(c.Samples) > 1 }) {
		which = "The sample with the median throughput"
	}
	kind := "times"
	if _, n := of[0].Distribution(results.Response); n > 0 {
		kind = "response times"
	}
	add := func(what, about string, y yAxis, lines []series) {
		if len(lines) > 0 {
			charts = append(charts, chart{Title: of[0].Title + ": " + what + " over time",
				About: fmt.Sprintf("%s %s, %s.", about, which, goroutines), X: secondsOf(lines), Y: y,
				Series: lines})
		}
	}
	add("throughput", "Operations per second of each interval.", yAxis{Unit: "/s"},
		p.timed(of, opsLine))
	alone := of // have a chart with all percentiles
	if len(of) > 2 {
		p99 := percentileLines[2]
		alone = nil
		add(p99.name+" of the "+kind, ofEach, yAxis{"s", true}, positive(p.timed(of, p99)))
	}
	for i, c := range alone {
		title := kind
		if len(of) > 1 {
			title += " of " + c.Engine
		}
		var lines []series
		for k, l := range percentileLines {
			for _, s := range p.timed(of[i:i+1], l) {
				s.Name, s.Place = l.name, k
				lines = append(lines, s)
			}
		}
		add(title, ofEach, yAxis{"s", true}, positive(lines))
	}
	for _, l := range []line{abortsLine, errorsLine} {
		lines := p.timed(of, l)
		if len(positive(lines)) > 0 {
			add(l.name, "Per second of each interval.", yAxis{Unit: "/s"}, lines)
		}
	}
	return charts
}

// timed returns a line over time for each cell.
func (p planner) timed(cells []*results.Cell, l line) []series {
	return p.lines(cells, func(c *results.Cell) (points []point) {
		list := moments(c)
		if len(list) == 0 {
			return nil
		}
		// Engines that ended an interval at about the same time have it at the same place.
		grid := math.Pow(10, math.Round(math.Log10(list[0].took.Seconds()))-1)
		for _, m := range list {
			x, y := math.Round(m.End.Seconds()/grid)*grid, l.of(m)
			points = append(points, point{x, y, y, y})
		}
		return points
	})
}

// positive returns the points of lines that a logarithmic axis has a place for.
func positive(lines []series) (list []series) {
	for _, s := range lines {
		s.Points = slices.DeleteFunc(slices.Clone(s.Points), func(p point) bool { return p.Y <= 0 })
		if len(s.Points) > 0 {
			list = append(list, s)
		}
	}
	return list
}

// secondsOf returns the axis of the times of lines: with some ticks, at round numbers.
func secondsOf(lines []series) xAxis {
	end := 0.
	for _, s := range lines {
		end = max(end, s.Points[len(s.Points)-1].X)
	}
	step := math.Pow(10, math.Floor(math.Log10(end/4)))
	for _, f := range []float64{5, 2} {
		if end/(f*step) >= 4 {
			step *= f
			break
		}
	}
	x := xAxis{Label: "seconds", Unit: "s"}
	for i := range int(end/step+1e-9) + 1 {
		at := float64(i) * step
		x.Ticks = append(x.Ticks, tick{at, strconv.FormatFloat(at, 'g', 4, 64)})
	}
	return x
}
