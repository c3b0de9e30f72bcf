package journey

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"io"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/internal/brief"
)

// A Profile is where the processor time of samples went.
type Profile struct {
	Err error // the first, of taking it

	stacks []stack
	last   int // of them: the first of the sample that was added last
}

// stack is functions, the outermost first, and the nanoseconds spent in the last.
type stack struct {
	funcs []string
	nanos int64
}

// Around has a sample profiled, see [bench.Trial.Around], and adds it.
func (p *Profile) Around() (end func()) {
	var data bytes.Buffer
	if err := pprof.StartCPUProfile(&data); err != nil {
		p.Err = cmp.Or(p.Err, err)
		return func() {}
	}
	return func() {
		pprof.StopCPUProfile()
		p.Err = cmp.Or(p.Err, p.add(data.Bytes()))
	}
}

// preempted is the function at the top of the stack of one that lost its processor: its time
// counts for that one.
const preempted = "runtime.asyncPreempt"

// add adds a CPU profile in the format of pprof.
func (p *Profile) add(data []byte) error {
	raw, err := profile.ParseData(data)
	if err != nil {
		return fmt.Errorf("reading the profile: %w", err)
	}
	p.last = len(p.stacks)
	for _, s := range raw.Sample {
		st := stack{nanos: s.Value[len(s.Value)-1]}
		for _, l := range slices.Backward(s.Location) {
			for _, line := range slices.Backward(l.Line) {
				if line.Function != nil {
					st.funcs = append(st.funcs, brief.Func(line.Function.Name))
				}
			}
		}
		if n := len(st.funcs) - 1; n > 0 && st.funcs[n] == preempted {
			st.funcs = st.funcs[:n]
		}
		p.stacks = append(p.stacks, st)
	}
	return nil
}

// Empty reports whether nothing was sampled.
func (p *Profile) Empty() bool { return len(p.stacks) == 0 }

// Share returns the part of the time of the last sample, from 0 to 1, spent in functions that have
// the text in their names, and in what they call.
func (p *Profile) Share(text string) float64 {
	var in, total int64
	for _, s := range p.stacks[p.last:] {
		total += s.nanos
		if slices.ContainsFunc(s.funcs, func(f string) bool { return strings.Contains(f, text) }) {
			in += s.nanos
		}
	}
	return float64(in) / float64(max(total, 1))
}

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
