package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The size of a chart. It is small, so that its text can be read when the page is
// as wide as a phone.
const (
	width      = 5 * vg.Inch
	plotHeight = 3.1 * vg.Inch // and the legend above it
)

// The library draws in colours of its own, which are replaced by variables of the
// style sheet afterwards: a chart has to suit a light and a dark page.
var (
	ink   = color.RGBA{1, 1, 2, 255} // text
	axes  = color.RGBA{1, 1, 3, 255}
	rules = color.RGBA{1, 1, 4, 255}
)

// hues is how many colours there are for series; with more of them colours repeat,
// in another dash.
const hues = 8

func hue(place int) color.Color { return color.RGBA{1, 2, uint8(place % hues), 255} }

// style is put into every chart. The colours are told apart by people who see
// fewer of them, too; each series also has its own mark.
const style = `<style>
svg{--paper:#fff;--ink:#24292f;--axes:#57606a;--rules:#d8dee4;--s0:#0b66c3;--s1:#d1540a;--s2:#12805c;--s3:#a3318f;--s4:#8a6a00;--s5:#5b4bc4;--s6:#b3263e;--s7:#3c7a8c}
@media (prefers-color-scheme:dark){svg{--paper:#151b23;--ink:#e6edf3;--axes:#9198a1;--rules:#30363d;--s0:#58a6ff;--s1:#ff9d5c;--s2:#3fb98f;--s3:#e48bd3;--s4:#d8b331;--s5:#a99cff;--s6:#ff7b86;--s7:#77c3d6}}
text{font-family:system-ui,-apple-system,"Segoe UI","Liberation Sans",Arial,sans-serif!important}
</style>`

// backdrop is behind a chart that is not part of a page.
const backdrop = `<rect width="100%" height="100%" style="fill:var(--paper)"/>`

// svg draws a chart, which must be drawable.
func (c chart) svg() ([]byte, error) {
	p := plot.New()
	p.BackgroundColor = nil // the page's
	p.X.Label.Text, p.Y.Label.Text = c.X.Label, c.Y.Label
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.LineStyle.Color, a.Tick.LineStyle.Color = axes, axes
		sans(&a.Label.TextStyle, 10)
		sans(&a.Tick.Label, 9.5)
		a.Label.Padding = 3
		a.Padding = 4
	}
	var xs []float64
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range c.Series {
		for _, q := range s.Points {
			xs = append(xs, q.X)
			low, high = min(low, q.Min), max(high, q.Max)
		}
	}
	if math.IsInf(low, 1) {
		return nil, fmt.Errorf("%s: there is nothing to draw", c.Title)
	}
	c.scaleY(p, low, high)
	bars := len(distinct(xs, func(x float64) float64 { return x })) == 1 && c.X.Scale != nines
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = rules, rules
	grid.Horizontal.Width, grid.Vertical.Width = 0.6, 0.6
	if bars {
		grid.Vertical.Color = nil
	}
	p.Add(grid)
	if bars {
		c.addBars(p, xs[0])
	} else {
		c.scaleX(p, xs)
		if err := c.addLines(p); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Title, err)
		}
	}

	legend := c.legendHeight()
	canvas := vgsvg.New(width, plotHeight+legend)
	all := draw.New(canvas)
	c.drawLegend(draw.Crop(all, 0, 0, all.Max.Y-all.Min.Y-legend, 0))
	p.Draw(draw.Crop(all, 2, -10, 2, -legend-4))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return finish(b.Bytes(), c), nil
}

// sans sets the font of a text.
func sans(s *text.Style, size vg.Length) {
	s.Color = ink
	s.Font.Typeface, s.Font.Variant, s.Font.Size = "Liberation", "Sans", font.Length(size)
}

// addLines adds a line with marks and bars from minimum to maximum for each series.
func (c chart) addLines(p *plot.Plot) error {
	for _, s := range c.Series {
		var xys plotter.XYs
		var spans plotter.YErrors
		spread := false
		for _, q := range s.Points {
			xys = append(xys, plotter.XY{X: q.X, Y: q.Y})
			spans = append(spans, struct{ Low, High float64 }{q.Y - q.Min, q.Max - q.Y})
			spread = spread || q.Max > q.Min
		}
		line, marks, err := plotter.NewLinePoints(xys)
		if err != nil {
			return err
		}
		line.LineStyle, marks.GlyphStyle = s.line(), s.mark()
		p.Add(line)
		if spread {
			e, err := plotter.NewYErrorBars(struct {
				plotter.XYer
				plotter.YErrorer
			}{xys, spans})
			if err != nil {
				return err
			}
			e.LineStyle = draw.LineStyle{Color: hue(s.Place), Width: 0.8}
			e.CapWidth = 5
			p.Add(e)
		}
		p.Add(marks)
	}
	return nil
}

// addBars adds a bar for each series: there is only one value of x. On a
// logarithmic axis, which has no bottom, it is a mark.
func (c chart) addBars(p *plot.Plot, x float64) {
	const room = 200 // for all bars
	n := vg.Length(len(c.Series))
	w := min(room/n, 42)
	for i, s := range c.Series {
		p.Add(bar{series: s, dot: c.Y.Scale == logarithmic, width: w * 0.8, offset: w * (vg.Length(i) - (n-1)/2)})
	}
	p.X.Min, p.X.Max = -1, 1
	p.X.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: c.X.number(x)}}
}

// line returns how the line of a series looks.
func (s series) line() draw.LineStyle {
	l := draw.LineStyle{Color: hue(s.Place), Width: 1.6}
	if s.Place >= hues {
		l.Dashes = []vg.Length{4, 2}
	}
	return l
}

// mark returns how the points of a series look.
func (s series) mark() draw.GlyphStyle {
	shapes := []draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{},
		draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{},
	}
	// What has the colour of another has not its mark.
	i := s.Place + s.Place/hues*3
	return draw.GlyphStyle{Color: hue(s.Place), Radius: 3, Shape: shapes[i%len(shapes)]}
}

// The legend is above the plot, in rows of equal columns.
const (
	legendRow = 15
	columns   = 3
	swatch    = 22
)

func (c chart) legendHeight() vg.Length {
	return legendRow * vg.Length((len(c.Series)+columns-1)/columns)
}

func (c chart) drawLegend(at draw.Canvas) {
	label := plot.New().Legend.TextStyle
	sans(&label, 10)
	label.YAlign = draw.YCenter
	label.XAlign = draw.XLeft
	step := (at.Max.X - at.Min.X) / columns
	for i, s := range c.Series {
		x := at.Min.X + 8 + step*vg.Length(i%columns)
		y := at.Max.Y - legendRow*(vg.Length(i/columns)+0.5)
		at.StrokeLine2(s.line(), x, y, x+swatch, y)
		at.DrawGlyph(s.mark(), vg.Point{X: x + swatch/2, Y: y})
		at.FillText(label, vg.Point{X: x + swatch + 5, Y: y}, s.Name)
	}
}

var sentinel = regexp.MustCompile(`#01(01|02)([0-9A-Fa-f]{2})`)

// finish puts the style sheet's colours into a chart, and says what it is to those
// who cannot see it.
func finish(b []byte, c chart) []byte {
	out := sentinel.ReplaceAllStringFunc(string(b), func(m string) string {
		var kind, n int
		fmt.Sscanf(m, "#01%02X%02X", &kind, &n)
		if kind == 2 {
			return fmt.Sprintf("var(--s%d)", n)
		}
		return map[int]string{2: "var(--ink)", 3: "var(--axes)", 4: "var(--rules)"}[n]
	})
	i := strings.Index(out, "<svg")
	j := i + strings.Index(out[i:], ">") + 1
	head := regexp.MustCompile(`(width|height)="[^"]*"\s*`).ReplaceAllString(out[i:j], "")
	head = strings.Replace(head, "<svg", fmt.Sprintf(`<svg role="img" aria-label="%s"`, escape(c.Title)), 1)
	return []byte(head + "\n<title>" + escape(c.Title) + "</title>\n" + style + backdrop + out[j:])
}
