package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
)

// A Change is how the profiles of processor time of one combination differ.
type Change struct {
	Of        string // the combination
	Functions []Function
	Boxes     []Box // of the flame graph
}

// A Function is the time of a function on both sides, in nanoseconds of each operation.
type Function struct {
	Name     string
	Old, New float64
	variance float64 // of the difference: samples come by chance
}

func (f *Function) add(side int, ns, samples float64) {
	if side == 0 {
		f.Old += ns
	} else {
		f.New += ns
	}
	f.variance += ns * ns / samples
}

// Cells returns the part of f in a table, after its name.
func (f Function) Cells() []string {
	return []string{fmt.Sprintf("%.1f", f.Old), fmt.Sprintf("%.1f", f.New),
		fmt.Sprintf("%+.1f", f.New-f.Old)}
}

// Side returns "more" or "less", as the new side takes more or less time; "" if the difference is
// below twice the root of its variance, and so may be chance.
func (f Function) Side() string {
	switch d := f.New - f.Old; {
	case math.Abs(d) < 2*math.Sqrt(f.variance) || d == 0:
		return ""
	case d > 0:
		return "more"
	}
	return "less"
}

// A Box is a path of calls in a flame graph, as wide as the times of both sides together.
type Box struct {
	Function
	Row         int
	Left, Width float64 // in percent
}

// Top returns where the box is, and Bottom where the next row begins, in pixels.
func (b Box) Top() int    { return 18 * b.Row }
func (b Box) Bottom() int { return b.Top() + 18 }

// Height returns the height of the flame graph, in pixels.
func (c Change) Height() (h int) {
	for _, b := range c.Boxes {
		h = max(h, b.Bottom())
	}
	return h
}

const (
	mostFunctions = 12  // in a list
	leastWidth    = 0.2 // of a box, in percent
)

// A node is a path of calls.
type node struct {
	Function
	callees map[string]*node
}

// NewChange compares two profiles of a combination, the old one first, in the processor time for
// each operation; ops has the numbers of operations.
func NewChange(of string, sides [2]*profile.Profile, ops [2]uint64) Change {
	root := &node{Function: Function{Name: "all"}}
	flat := map[string]*Function{}
	for side, p := range sides {
		for _, s := range p.Sample {
			path, last := pathOf(s), len(s.Value)-1
			if len(path) == 0 || s.Value[last] == 0 {
				continue
			}
			samples, ns := float64(max(s.Value[0], 1)), float64(s.Value[last])/float64(ops[side])
			leaf := path[len(path)-1]
			if flat[leaf] == nil {
				flat[leaf] = &Function{Name: leaf}
			}
			flat[leaf].add(side, ns, samples)
			n := root
			n.add(side, ns, samples)
			for _, name := range path {
				n = n.callee(name)
				n.add(side, ns, samples)
			}
		}
	}
	c := Change{Of: of}
	list := slices.SortedFunc(maps.Values(flat), func(f, g *Function) int {
		return cmp.Or(cmp.Compare(math.Abs(g.New-g.Old), math.Abs(f.New-f.Old)),
			cmp.Compare(f.Name, g.Name))
	})
	for _, f := range list[:min(len(list), mostFunctions)] {
		c.Functions = append(c.Functions, *f)
	}
	c.Boxes = root.boxes(nil, 0, 0, 100/(root.Old+root.New))
	return c
}

// between matches the functions whose time counts for their callers: interruptions, and loops that
// differ between timed runs and sampled ones.
var between = regexp.MustCompile(`^runtime\.asyncPreempt|\.\(\*worker\)\.run(Timed|Sampled)$`)

// pathOf returns the functions of a sample, the outermost first.
func pathOf(s *profile.Sample) (path []string) {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if f := line.Function; f != nil && !between.MatchString(f.Name) {
				path = append(path, humanize.Func(f.Name))
			}
		}
	}
	slices.Reverse(path)
	return path
}

func (n *node) callee(name string) *node {
	if n.callees == nil {
		n.callees = map[string]*node{}
	}
	c := n.callees[name]
	if c == nil {
		c = &node{Function: Function{Name: name}}
		n.callees[name] = c
	}
	return c
}

// boxes appends the boxes of n and its callees to list.
func (n *node) boxes(list []Box, row int, left, scale float64) []Box {
	width := (n.Old + n.New) * scale
	if !(width >= leastWidth) {
		return list
	}
	list = append(list, Box{n.Function, row, left, width})
	for _, name := range slices.Sorted(maps.Keys(n.callees)) {
		c := n.callees[name]
		list = c.boxes(list, row+1, left, scale)
		left += (c.Old + c.New) * scale
	}
	return list
}
