package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/internal/report"
	"github.com/mvccmap/mvccmap/internal/results"
	"github.com/mvccmap/mvccmap/profiling"
)

// readProfiles takes the profiles of a sample.
func (s *abSide) readProfiles(files map[string][]byte) error {
	s.last = profiling.Profiles{}
	for name, data := range files {
		name, ok := strings.CutSuffix(name, results.ProfileExtension)
		if !ok || strings.HasPrefix(name, results.WholeRun+".") {
			continue
		}
		p, err := profile.ParseData(data)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		p.Comments = nil // of the one sample
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			return err
		}
		s.last[name[strings.LastIndexByte(name, '.')+1:]] = b.Bytes()
	}
	return nil
}

// profiles keeps the profiles of both sides with their runs, and returns the differences.
func (a *ab) profiles() (changes []report.Change, err error) {
	if !a.cmd.Profile {
		return nil, nil
	}
	for _, s := range a.sides {
		if s.run.Profiles, err = s.profile.files(", " + s.label); err != nil {
			return nil, err
		}
	}
	const kind = "cpu"
	for _, name := range slices.Sorted(maps.Keys(a.sides[1].profile)) {
		x, y := a.sides[0].profile[name], a.sides[1].profile[name]
		if x == nil || x.Profiles[kind] == nil || y.Profiles[kind] == nil {
			continue
		}
		d, err := minus(x, y, kind)
		if err != nil {
			return nil, fmt.Errorf("subtracting profiles: %s, %s: %w", name, kind, err)
		}
		changes = append(changes, report.Change{Of: y.of, Functions: functions(d, float64(y.ops))})
	}
	return changes, nil
}

// baseLabel is how go tool pprof marks the subtracted profile: percentages are of that.
const baseLabel = "pprof::base"

// minus returns the surplus of the new side over the old one for as many operations.
func minus(old, now *combinationProfiles, kind string) (*profile.Profile, error) {
	x, err := profile.ParseData(old.Profiles[kind])
	if err != nil {
		return nil, err
	}
	y, err := profile.ParseData(now.Profiles[kind])
	if err != nil {
		return nil, err
	}
	x.Scale(-float64(now.ops) / float64(old.ops))
	x.SetLabel(baseLabel, []string{"true"})
	return profile.Merge([]*profile.Profile{y, x})
}

// mostFunctions is how many functions of a difference are listed.
const mostFunctions = 12

// functions returns the functions that themselves take more or less, the largest difference first,
// in nanoseconds of each of so many operations.
func functions(d *profile.Profile, ops float64) []report.Function {
	sums := map[string]*report.Function{}
	value := len(d.SampleType) - 1
	for _, s := range d.Sample {
		if len(s.Location) == 0 || len(s.Location[0].Line) == 0 {
			continue
		}
		name := brief.Func(s.Location[0].Line[0].Function.Name)
		f := sums[name]
		if f == nil {
			f = &report.Function{Name: name}
			sums[name] = f
		}
		if v := float64(s.Value[value]) / ops; s.HasLabel(baseLabel, "true") {
			f.Old -= v
		} else {
			f.New += v
		}
	}
	list := slices.Collect(maps.Values(sums))
	slices.SortFunc(list, func(f, g *report.Function) int {
		return cmp.Or(cmp.Compare(math.Abs(g.New-g.Old), math.Abs(f.New-f.Old)),
			cmp.Compare(f.Name, g.Name))
	})
	var most []report.Function
	for _, f := range list[:min(len(list), mostFunctions)] {
		most = append(most, *f)
	}
	return most
}

// fewFunctions is how many functions are printed for each combination.
const fewFunctions = 3

// writeChanges writes the functions with the largest differences.
func writeChanges(w io.Writer, changes []report.Change) {
	for i, c := range changes {
		if i == 0 {
			fmt.Fprint(w, "\nfunctions that take more or less, ns of each operation:\n")
		}
		for _, f := range c.Functions[:min(len(c.Functions), fewFunctions)] {
			cells := f.Cells()
			fmt.Fprintf(w, "  %s: %s: %s (%s to %s)\n", c.Of, f.Name, cells[2], cells[0], cells[1])
		}
	}
}
