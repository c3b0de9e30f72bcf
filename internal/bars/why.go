package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/internal/brief"
)

// Labels of the samples in the CPU profile.
const (
	labelRow  = "row"
	labelSide = "side"
)

// topFunctions is how many functions a row is explained by.
const topFunctions = 12

// profiled runs fn under the CPU profiler, with the profile written to the file
// name.
func profiled(name string, fn func() error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return err
	}
	err = fn()
	pprof.StopCPUProfile()
	return cmp.Or(err, f.Close())
}

// explain prints, for each missed row, where our side spent its time, according
// to the profile in the file name.
func explain(w io.Writer, name string, done []outcome) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, o := range done {
		if !strings.HasPrefix(o.verdict(), "missed") || o.row.kind == memory {
			continue
		}
		total, self := selfTimes(p, o.row.name, o.row.ours.name)
		fmt.Fprintf(w, "\n%s, %s: %s an operation, of that\n", o.row.name, o.row.ours.name,
			amount(o.row.kind, o.ours))
		for _, s := range self[:min(len(self), topFunctions)] {
			share := float64(s.nanos) / float64(total)
			fmt.Fprintf(w, "  %5.1f %%  %9s  %s\n", 100*share, amount(o.row.kind, share*o.ours), s.name)
		}
	}
	return nil
}

// selfTime is the time that a function spent itself, and in what was inlined
// into it.
type selfTime struct {
	name  string
	nanos int64
}

// selfTimes returns the time of all samples of a side of a row, and that of each
// function, the longest first.
func selfTimes(p *profile.Profile, row, side string) (total int64, self []selfTime) {
	value := len(p.SampleType) - 1 // of a CPU profile: nanoseconds
	byName := map[string]int64{}
	for _, s := range p.Sample {
		if !s.HasLabel(labelRow, row) || !s.HasLabel(labelSide, side) || len(s.Location) == 0 {
			continue
		}
		total += s.Value[value]
		if lines := s.Location[0].Line; len(lines) > 0 && lines[len(lines)-1].Function != nil {
			byName[brief.Func(lines[len(lines)-1].Function.Name)] += s.Value[value]
		}
	}
	for name, nanos := range byName {
		self = append(self, selfTime{name, nanos})
	}
	slices.SortFunc(self, func(a, b selfTime) int {
		return cmp.Or(cmp.Compare(b.nanos, a.nanos), strings.Compare(a.name, b.name))
	})
	return total, self
}
