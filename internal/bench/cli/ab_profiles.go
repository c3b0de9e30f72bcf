package cli

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/internal/bench/report"
	"github.com/mvccmap/mvccmap/internal/bench/results"
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
		var both [2]*profile.Profile
		for i, of := range []*combinationProfiles{x, y} {
			if both[i], err = profile.ParseData(of.Profiles[kind]); err != nil {
				return nil, fmt.Errorf("comparing profiles: %s, %s: %w", name, kind, err)
			}
		}
		changes = append(changes, report.NewChange(y.of, both, [2]uint64{x.ops, y.ops}))
	}
	return changes, nil
}

// fewFunctions is how many functions are printed for each combination.
const fewFunctions = 3

// writeChanges writes the functions with the largest differences.
func writeChanges(w io.Writer, changes []report.Change) {
	for i, c := range changes {
		if i == 0 {
			fmt.Fprint(w, "\nfunctions that take more or less, ns of each operation; ? may be chance:\n")
		}
		for _, f := range c.Functions[:min(len(c.Functions), fewFunctions)] {
			cells, mark := f.Cells(), ""
			if f.Side() == "" {
				mark = "?"
			}
			fmt.Fprintf(w, "  %s: %s: %s%s (%s to %s)\n", c.Of, f.Name, cells[2], mark, cells[0], cells[1])
		}
	}
}
