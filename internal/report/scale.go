package report

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// scaleY sets the range and the marks of the y axis for values from low to high.
func (c chart) scaleY(p *plot.Plot, low, high float64) {
	switch c.Y.Scale {
	case logarithmic:
		p.Y.Scale = plot.LogScale{}
		p.Y.Min, p.Y.Max = roundDown(low), roundUp(high)
		if p.Y.Min == p.Y.Max {
			p.Y.Max *= 2
		}
		p.Y.Tick.Marker = c.logTicks(p.Y.Min, p.Y.Max)
	default:
		if high <= 0 {
			high = 1
		}
		ticks := even(high * 1.02)
		p.Y.Min, p.Y.Max = 0, ticks[len(ticks)-1]
		p.Y.Tick.Marker = c.Y.marks(ticks)
	}
}

// scaleX does the same for the x axis, where the points are.
func (c chart) scaleX(p *plot.Plot, xs []float64) {
	at := slices.Compact(slices.Sorted(slices.Values(xs)))
	low, high := at[0], at[len(at)-1]
	switch c.X.Scale {
	case nines:
		p.X.Min, p.X.Max = nine(50), max(math.Ceil(high-0.31), 1)
		var t plot.ConstantTicks
		for _, percent := range []float64{50, 90, 99, 99.9, 99.99, 99.999} {
			t = append(t, plot.Tick{Value: nine(percent), Label: strconv.FormatFloat(percent, 'f', -1, 64)})
		}
		p.X.Max = max(p.X.Max, high)
		p.X.Tick.Marker = t
	case doubling:
		p.X.Scale = plot.LogScale{}
		p.X.Min, p.X.Max = low/1.08, high*1.08
		p.X.Tick.Marker = apart{c.X.marks(at), p.X.Scale}
	default:
		room := (high - low) / 25
		p.X.Min, p.X.Max = low-room, high+room
		p.X.Tick.Marker = apart{c.X.marks(at), plot.LinearScale{}}
	}
}

// apart leaves out the numbers that would touch the one before.
type apart struct {
	ticks plot.ConstantTicks
	scale plot.Normalizer
}

// Ticks implements [plot.Ticker].
func (a apart) Ticks(low, high float64) []plot.Tick {
	const least = 0.075 // of the axis
	list := slices.Clone(a.ticks)
	last := math.Inf(-1)
	for i, t := range list {
		at := a.scale.Normalize(low, high, t.Value)
		if at-last < least {
			list[i].Label = ""
			continue
		}
		last = at
	}
	return list
}

// marks returns marks with numbers.
func (a axis) marks(at []float64) plot.ConstantTicks {
	var t plot.ConstantTicks
	for _, v := range at {
		t = append(t, plot.Tick{Value: v, Label: a.number(v)})
	}
	return t
}

// even returns round numbers at equal distances, from 0 to at least high.
func even(high float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10(high)))
	for _, f := range []float64{0.2, 0.25, 0.5, 1, 2} {
		if high <= 5*f*step {
			step *= f
			break
		}
	}
	list := []float64{0}
	for i := 1; list[len(list)-1] < high; i++ {
		list = append(list, float64(i)*step)
	}
	return list
}

// logTicks returns marks at 1, 2 and 5 times the powers of ten, or at the powers
// of ten with fewer numbers if there are many.
func (c chart) logTicks(low, high float64) plot.ConstantTicks {
	decades := math.Log10(high / low)
	var t plot.ConstantTicks
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for _, f := range []float64{1, 2, 5} {
			v := f * math.Pow(10, e)
			if v < low*0.999 || v > high*1.001 {
				continue
			}
			tick := plot.Tick{Value: v}
			if f == 1 || decades <= 2.5 {
				tick.Label = c.Y.number(v)
			}
			t = append(t, tick)
		}
	}
	return t
}

// roundDown and roundUp return the next of 1, 2 and 5 times a power of ten.
func roundDown(v float64) float64 {
	return roundTo(v, []float64{5, 2, 1}, func(a, b float64) bool { return a <= b*1.0001 })
}

func roundUp(v float64) float64 {
	return roundTo(v, []float64{1, 2, 5, 10}, func(a, b float64) bool { return a >= b*0.9999 })
}

func roundTo(v float64, factors []float64, ok func(a, b float64) bool) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range factors {
		if ok(f*p, v) {
			return f * p
		}
	}
	return v
}

// number writes a number beside an axis: with a prefix if it is large.
func (a axis) number(v float64) string {
	if a.Unit == nanoseconds {
		for _, u := range []struct {
			ns   float64
			name string
		}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
			if v >= u.ns*0.9999 {
				return short(v/u.ns) + " " + u.name
			}
		}
		return short(v) + " ns"
	}
	for _, u := range []struct {
		factor float64
		name   string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= u.factor*0.9999 && (u.factor > 1e3 || v >= 1e4 || math.Mod(v, 100) == 0) {
			return short(v/u.factor) + u.name
		}
	}
	return short(v)
}

// short writes a number with as many digits as an axis has room for.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// bar is the only point of a series, in the middle of the x axis: a bar or a mark,
// and a line from the smallest to the largest sample.
type bar struct {
	series
	dot           bool
	width, offset vg.Length
}

// Plot implements [plot.Plotter].
func (b bar) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	q := b.Points[0]
	x, half := tx(0)+b.offset, b.width/2
	if b.dot {
		style := b.series.mark()
		style.Radius = 4
		c.DrawGlyph(style, vg.Point{X: x, Y: ty(q.Y)})
	} else {
		y0, y1 := ty(p.Y.Min), ty(q.Y)
		c.FillPolygon(hue(b.Place), []vg.Point{{X: x - half, Y: y0}, {X: x - half, Y: y1}, {X: x + half, Y: y1}, {X: x + half, Y: y0}})
	}
	if q.Max == q.Min {
		return
	}
	line := draw.LineStyle{Color: ink, Width: 1}
	c.StrokeLine2(line, x, ty(q.Min), x, ty(q.Max))
	for _, v := range []float64{q.Min, q.Max} {
		c.StrokeLine2(line, x-3, ty(v), x+3, ty(v))
	}
}
