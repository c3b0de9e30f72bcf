package pprofui

import (
	"fmt"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
)

// A Side is one of the two profiles of a difference.
type Side struct {
	Name string
	Ops  uint64 // operations that were done meanwhile, 0 if that is not known
}

// ScaleBase scales the base of a difference as if it had done as many operations as the other side,
// if both numbers are known.
func ScaleBase(base *profile.Profile, of, less Side) {
	if of.Ops > 0 && less.Ops > 0 {
		base.Scale(float64(of.Ops) / float64(less.Ops))
	}
}

// AboutScale puts the effect of ScaleBase into words.
func AboutScale(of, less Side) string {
	if of.Ops == 0 || less.Ops == 0 {
		return "as measured: it is not known how many operations there were"
	}
	return fmt.Sprintf("per operation: %s had %s operations and %s %s; the figures of %[3]s are "+
		"multiplied by %.3[5]g", of.Name, of.count(), less.Name, less.count(),
		float64(of.Ops)/float64(less.Ops))
}

// count returns the number of operations in few characters.
func (s Side) count() string {
	if s.Ops < 10_000 {
		return fmt.Sprint(s.Ops)
	}
	return humanize.Number(float64(s.Ops))
}

// dropUnshared takes the file names of a function out of both profiles if one profile has none for
// the function: the flame graph tells functions apart by their files, too, so profiles of two
// builds of a program would have nothing in common.
func dropUnshared(p, q *profile.Profile) {
	nameless, all := map[string]bool{}, slices.Concat(p.Function, q.Function)
	for _, f := range all {
		if f.Filename == "" {
			nameless[f.Name] = true
		}
	}
	for _, f := range all {
		if nameless[f.Name] {
			f.Filename = ""
		}
	}
}
