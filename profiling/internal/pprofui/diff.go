package pprofui

import (
	"fmt"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// A Scale says how the base of a difference is scaled. It ends the names of differences in paths.
type Scale string

// The scales.
const (
	PerOperation Scale = ""          // as if it had done as many operations, if those are known
	AsMeasured   Scale = "-measured" // not at all
	EqualTotals  Scale = "-share"    // to the same total
)

// A Side is what a difference is made of.
type Side struct {
	Name string
	Ops  uint64 // operations that were done meanwhile, 0 if that is not known
}

// ScaleOf returns the scale that a parameter of a form names.
func ScaleOf(text string) (Scale, error) {
	switch s := Scale("-" + text); s {
	case "-":
		return PerOperation, nil
	case AsMeasured, EqualTotals:
		return s, nil
	}
	return "", web.Bad("scale must be measured or share, or be left out, not %q", text)
}

// Apply scales the base of a difference.
func (s Scale) Apply(p, base *profile.Profile, of, less Side) {
	switch {
	case s == EqualTotals:
		ScaleTo(base, p)
	case s == PerOperation && of.Ops > 0 && less.Ops > 0:
		base.Scale(float64(of.Ops) / float64(less.Ops))
	}
}

// About says in words what was done to the base.
func (s Scale) About(of, less Side) string {
	switch {
	case s == EqualTotals:
		return "of equal totals"
	case s == AsMeasured:
		return "as measured"
	case of.Ops == 0 || less.Ops == 0:
		return "as measured: it is not known how many operations there were"
	}
	return fmt.Sprintf("per operation: %s had %s operations and %s %s, so what was in it counts "+
		"%.3g times", of.Name, of.count(), less.Name, less.count(),
		float64(of.Ops)/float64(less.Ops))
}

// count returns the number of operations in few characters.
func (s Side) count() string {
	if s.Ops < 10_000 {
		return fmt.Sprint(s.Ops)
	}
	return brief.Number(float64(s.Ops))
}

// Others returns the other scales that make a difference, with what links call them.
func (s Scale) Others(of, less Side) (list []Link) {
	for _, o := range []Link{
		{string(PerOperation), "per operation"}, {string(AsMeasured), "as measured"},
		{string(EqualTotals), "scale to equal totals"},
	} {
		known := of.Ops > 0 && less.Ops > 0
		if o.Ref != string(s) && (known || o.Ref == string(EqualTotals) || s == EqualTotals &&
			o.Ref == string(AsMeasured)) {
			list = append(list, o)
		}
	}
	return list
}

// ScaleTo gives p the totals of like, value by value.
func ScaleTo(p, like *profile.Profile) {
	ratios := make([]float64, len(p.SampleType))
	for i := range ratios {
		ratios[i] = 1
		if from, to := total(p, i), total(like, i); from != 0 && to != 0 {
			ratios[i] = to / from
		}
	}
	p.ScaleN(ratios)
}

// total sums value i over all samples, 0 if there is no such value.
func total(p *profile.Profile, i int) (sum float64) {
	for _, s := range p.Sample {
		if i < len(s.Value) {
			sum += float64(s.Value[i])
		}
	}
	return sum
}

// dropUnshared takes the file names of a function out of both profiles if one of
// them has none for it: the flame graph tells functions apart by their files, too.
// Otherwise profiles of two builds of a program would have nothing in common.
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
