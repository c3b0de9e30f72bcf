package journey

import (
	"cmp"
	"fmt"
	"html"
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
	var boxes strings.Builder
	depth := root.draw(&boxes, float64(max(root.nanos, 1)), 0, 0)
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d"
 font-family="monospace" font-size="11">
<rect width="100%%" height="100%%" fill="#fff"/>
<text x="4" y="17" font-size="13">%s</text>
%s</svg>
`, flameWidth, flameHead+depth*flameRow+4, html.EscapeString(title), &boxes)
	return err
}

// draw draws f and what it calls, and returns how many levels these are.
func (f *frame) draw(b *strings.Builder, all, x float64, level int) (depth int) {
	width := flameWidth * float64(f.nanos) / all
	if width < flameLeast {
		return 0
	}
	short := []rune(shortName.Replace(f.name)) // as far as it fits
	short = short[:min(len(short), max(int((width-6)/flameLetter), 0))]
	y := flameHead + level*flameRow
	fmt.Fprintf(b, `<g><title>%s: %.1f %%</title>
<rect x="%.1f" y="%d" width="%.1f" height="17"
 fill="%s" stroke="#fff" stroke-width=".5"/>
<text x="%.1f" dx="3" dy="12.5" y="%d">%s</text></g>
`, html.EscapeString(f.name), 100*float64(f.nanos)/all, x, y, width, flameColour(f.name), x, y,
		html.EscapeString(string(short)))
	var calls []*frame
	for _, c := range f.calls {
		calls = append(calls, c)
	}
	slices.SortFunc(calls, func(a, b *frame) int {
		return cmp.Or(cmp.Compare(b.nanos, a.nanos), strings.Compare(a.name, b.name))
	})
	for _, c := range calls {
		depth = max(depth, c.draw(b, all, x, level+1))
		x += flameWidth * float64(c.nanos) / all
	}
	return depth + 1
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
