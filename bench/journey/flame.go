package journey

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
)

// frame is a function in a flame graph, called by the one below it.
type frame struct {
	name  string
	nanos int64
	calls map[string]*frame
}

func (f *frame) call(name string) *frame {
	c := f.calls[name]
	if c == nil {
		c = &frame{name: name, calls: map[string]*frame{}}
		f.calls[name] = c
	}
	return c
}

// Measures of a flame graph, in pixels.
const (
	flameWidth, flameRow, flameHead = 960, 18, 26
	flameLetter                     = 6.6 // of a letter
	flameLeast                      = 2.0 // of a frame that is drawn
)

// flameBox is a frame that is drawn.
type flameBox struct {
	X, Width float64
	Y        int
	Text     string // as far as it fits
	Title    string
	Colour   string
}

var flamePage = template.Must(template.New("flame").Parse(
	`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{.Width}} {{.Height}}"
 font-family="monospace" font-size="11">
<rect width="100%" height="100%" fill="#fff"/>
<text x="4" y="17" font-size="13">{{.Title}}</text>
{{range .Boxes}}<g><title>{{.Title}}</title>
<rect x="{{printf "%.1f" .X}}" y="{{.Y}}" width="{{printf "%.1f" .Width}}" height="17"
 fill="{{.Colour}}" stroke="#fff" stroke-width=".5"/>
{{if .Text}}<text x="{{printf "%.1f" .X}}" dx="3" dy="12.5" y="{{.Y}}">{{.Text}}</text>{{end}}</g>
{{end}}</svg>
`))

// WriteFlame draws a flame graph in SVG of what the sessions of engines do, with the rest as one
// frame: callers above what they call.
func (p *Profile) WriteFlame(w io.Writer, title string) error {
	root := &frame{name: "all", calls: map[string]*frame{}}
	for _, s := range p.stacks {
		funcs := []string{"the harness and the runtime"}
		if i := slices.IndexFunc(s.funcs, isLab); i >= 0 {
			funcs = s.funcs[i:]
			if j := slices.IndexFunc(funcs, isRuntime); j >= 0 {
				funcs = funcs[:j+1] // no frames within the runtime
			}
		}
		at := root
		at.nanos += s.nanos
		for _, f := range funcs {
			at = at.call(f)
			at.nanos += s.nanos
		}
	}
	var boxes []flameBox
	depth := 0
	var draw func(f *frame, x float64, level int)
	draw = func(f *frame, x float64, level int) {
		width := flameWidth * float64(f.nanos) / float64(max(root.nanos, 1))
		if width < flameLeast {
			return
		}
		depth = max(depth, level+1)
		short := []rune(shortName.Replace(f.name))
		if room := int((width - 6) / flameLetter); len(short) > room {
			short = short[:max(room, 0)]
		}
		boxes = append(boxes, flameBox{
			X: x, Width: width, Y: flameHead + level*flameRow,
			Text: string(short), Colour: flameColour(f.name),
			Title: fmt.Sprintf("%s: %.1f %%", f.name, 100*float64(f.nanos)/float64(root.nanos)),
		})
		var calls []*frame
		for _, c := range f.calls {
			calls = append(calls, c)
		}
		slices.SortFunc(calls, func(a, b *frame) int {
			return cmp.Or(cmp.Compare(b.nanos, a.nanos), strings.Compare(a.name, b.name))
		})
		for _, c := range calls {
			draw(c, x, level+1)
			x += flameWidth * float64(c.nanos) / float64(root.nanos)
		}
	}
	draw(root, 0, 0)
	return flamePage.Execute(w, map[string]any{
		"Width": flameWidth, "Height": flameHead + depth*flameRow + 4,
		"Title": title, "Boxes": boxes,
	})
}

// shortName returns the part of a name that tells functions of the laboratory apart.
var shortName = strings.NewReplacer("journey.", "", "(*", "", ")", "")

// flameColour tells the laboratory, its libraries and the rest apart.
func flameColour(name string) string {
	switch {
	case isLab(name):
		return "#f4a261"
	case isRuntime(name), !strings.Contains(name, "."): // assembly has no package
		return "#ced4da"
	}
	return "#e9c46a"
}

func isLab(name string) bool     { return strings.HasPrefix(name, "journey.") }
func isRuntime(name string) bool { return strings.HasPrefix(name, "runtime.") }
